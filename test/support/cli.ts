import { runCli } from '../../server/cli/program.ts';
import { type Ended, NO_SETTINGS, ROOT, type Site, siteEnv } from './appliance.ts';

export interface CliOptions {
  env?: Record<string, string | undefined>;
  cwd?: string;
  /** What a person at the terminal answers; without it there is no terminal. */
  answer?: string;
}

/** Runs a command in this process: all that it says and its exit code, in a tenth of the time of a real one. */
export async function cliHere(
  args: readonly string[],
  { env, cwd, answer }: CliOptions = {},
): Promise<Ended> {
  const ended: Ended = { code: null, signal: null, stdout: '', stderr: '' };
  ended.code = await runCli({
    args,
    env: { RAILHEAD_CONFIG: NO_SETTINGS, ...env },
    cwd: cwd ?? ROOT,
    root: ROOT,
    nodeBinary: process.execPath,
    stdout: { write: (text) => (ended.stdout += text), isTTY: false },
    stderr: { write: (text) => (ended.stderr += text), isTTY: false },
    onSignal: () => {},
    terminalIsGone: () => false,
    outliveOutput: () => {},
    sendSignal: () => false,
    askSecret: async () => answer,
    setExitCode: () => {},
    exit: (code) => {
      throw new Error(`exit ${code}`);
    },
  });
  return ended;
}

/** A command on the data folder of this site. */
export function cliOn(site: Site): (...args: string[]) => Promise<Ended> {
  return (...args) => cliHere(args, { env: siteEnv(site), cwd: site.dir });
}
