import { createInterface } from 'node:readline/promises';
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';
import { runCli } from './cli/program.ts';
import { EXIT } from './errors.ts';

/** The process: arguments, environment, signals, exit codes. Nothing else in Railhead touches these. */

// `railhead hosts | head`: a reader that has seen enough is no fault. A server goes on without readers.
let endsWithoutReaders = true;
for (const output of [process.stdout, process.stderr]) {
  output.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE' && endsWithoutReaders) process.exit(EXIT.ok);
  });
}

const terminals = [0, 1, 2].filter((fd) => isatty(fd));

process.on('uncaughtException', die);
process.on('unhandledRejection', die);

function die(error: unknown): void {
  process.stderr.write(
    `RH_INTERNAL: Railhead met a bug and must stop.\n${(error as Error)?.stack ?? error}\n`,
  );
  process.exit(EXIT.internal);
}

async function askSecret(question: string): Promise<string | undefined> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  // What is typed must not be seen: the terminal echoes nothing while there is no output to echo to.
  process.stderr.write(question);
  const reader = createInterface({ input: process.stdin, terminal: true });
  try {
    return await reader.question('');
  } finally {
    reader.close();
    process.stderr.write('\n');
  }
}

process.exitCode = await runCli({
  args: process.argv.slice(2),
  env: process.env,
  cwd: process.cwd(),
  root: fileURLToPath(new URL('..', import.meta.url)),
  nodeBinary: process.execPath,
  stdout: { write: (text) => process.stdout.write(text), isTTY: process.stdout.isTTY === true },
  stderr: { write: (text) => process.stderr.write(text), isTTY: process.stderr.isTTY === true },
  onSignal: (handler) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, handler);
  },
  // A terminal that has been closed is none any more.
  terminalIsGone: () => terminals.some((fd) => !isatty(fd)),
  outliveOutput: () => {
    endsWithoutReaders = false;
  },
  sendSignal: (pid, signal) => {
    try {
      return process.kill(pid, signal);
    } catch {
      return false;
    }
  },
  askSecret,
  setExitCode: () => {},
  exit: (code) => process.exit(code),
});
