import { spawn } from 'node:child_process';
import { systemCode } from '../errors.ts';

/** Sends a signal to a process, or to a whole group (-pid). False: there is none. */
export type SendSignal = (pid: number, signal: NodeJS.Signals) => boolean;

export interface ChildOptions {
  program: string;
  args: readonly string[];
  env: Record<string, string>;
  cwd: string;
  timeoutMs: number;
  /** Ends it before its time. */
  signal: AbortSignal;
  sendSignal: SendSignal;
  onOutput: (chunk: Buffer) => void;
  /** Between being asked to end and being made to. */
  graceMs?: number;
}

export type ChildEnd =
  | { how: 'exit'; code: number }
  | { how: 'killed'; signal: string }
  | { how: 'timeout' }
  | { how: 'stopped' }
  | { how: 'unstartable'; reason: string };

const GRACE_MS = 2000;
/** For what is still in the pipes when the program has ended. */
const DRAIN_MS = 1000;

/** Runs a program in a process group of its own: whatever it starts ends with it. */
export function runChild(options: ChildOptions): Promise<ChildEnd> {
  const { program, args, env, cwd, timeoutMs, signal, sendSignal, onOutput } = options;
  if (signal.aborted) return Promise.resolve({ how: 'stopped' });
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const { pid } = child;
    let cutShort: 'timeout' | 'stopped' | undefined;
    let kill: NodeJS.Timeout | undefined;
    const signalGroup = (name: NodeJS.Signals): void => {
      if (pid !== undefined) sendSignal(-pid, name);
    };
    const end = (why: 'timeout' | 'stopped'): void => {
      if (cutShort !== undefined) return;
      cutShort = why;
      signalGroup('SIGTERM');
      kill = setTimeout(() => signalGroup('SIGKILL'), options.graceMs ?? GRACE_MS);
    };
    const timer = setTimeout(() => end('timeout'), timeoutMs);
    const stop = (): void => end('stopped');
    signal.addEventListener('abort', stop);
    const finish = (result: ChildEnd): void => {
      clearTimeout(timer);
      clearTimeout(kill);
      signal.removeEventListener('abort', stop);
      resolve(cutShort === undefined ? result : { how: cutShort });
    };
    child.stdout.on('data', onOutput);
    child.stderr.on('data', onOutput);
    child.once('error', (error) =>
      finish({ how: 'unstartable', reason: systemCode(error) ?? error.message }),
    );
    child.once('exit', (code, name) => {
      // What it has left running in its group has nobody to report to.
      signalGroup('SIGKILL');
      // And what has left the group may hold the pipes open: that is no reason to wait.
      const drained = setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
      }, DRAIN_MS);
      child.once('close', () => {
        clearTimeout(drained);
        finish(code === null ? { how: 'killed', signal: name ?? 'a signal' } : { how: 'exit', code });
      });
    });
  });
}
