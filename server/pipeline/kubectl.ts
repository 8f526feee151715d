import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface KubectlOptions {
  program: string;
  kubeconfigFile: string;
  /** PATH, proxies and the like. */
  env: Record<string, string>;
}

const PATIENCE_MS = 20_000;
const MOST_OUTPUT = 64 * 1024 * 1024;

/** Asks something that changes nothing. Fails with kubectl's last line. */
export async function askKubectl(
  { program, kubeconfigFile, env }: KubectlOptions,
  ...args: string[]
): Promise<string> {
  try {
    const { stdout } = await run(program, [`--request-timeout=${PATIENCE_MS / 1000}s`, ...args], {
      env: { ...env, KUBECONFIG: kubeconfigFile },
      timeout: PATIENCE_MS + 5000,
      killSignal: 'SIGKILL',
      maxBuffer: MOST_OUTPUT,
      encoding: 'utf8',
    });
    return stdout;
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    throw new Error(stderr?.trim().split('\n').at(-1) || 'kubectl gave no answer');
  }
}
