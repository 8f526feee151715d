/** The world as a command sees it. Only `main.ts` touches the real one. */
export interface CliIo {
  /** What follows `railhead` on the command line. */
  args: readonly string[];
  env: Record<string, string | undefined>;
  cwd: string;
  /** The folder of the clone: where defaults start. */
  root: string;
  /** The Node that runs this. */
  nodeBinary: string;
  stdout: Output;
  stderr: Output;
  /** Calls back at SIGTERM, SIGINT and SIGHUP instead of ending the process. */
  onSignal: (handler: (signal: NodeJS.Signals) => void) => void;
  /** Whether the terminal that it was started on has been closed. */
  terminalIsGone: () => boolean;
  /** From now on it goes on when nobody reads its output any more; without this, it ends then. */
  outliveOutput: () => void;
  /** Sends a signal to a process that we have started, or to its group (-pid). False: there is none. */
  sendSignal: (pid: number, signal: NodeJS.Signals) => boolean;
  /** Asks a person at the terminal for a passphrase; `undefined` when there is no terminal. */
  askSecret: (question: string) => Promise<string | undefined>;
  /** The exit code for when the command is done, if it is not 0. */
  setExitCode: (code: number) => void;
  /** Ends the process at once. */
  exit: (code: number) => never;
}

export interface Output {
  write: (text: string) => unknown;
  isTTY: boolean;
}

export function print(output: Output, ...lines: string[]): void {
  output.write(`${lines.join('\n')}\n`);
}

export function printJson(output: Output, value: unknown): void {
  print(output, JSON.stringify(value, null, 2));
}
