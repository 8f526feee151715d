import { stat } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import type { FileHashes } from '../content/hash-file.ts';
import { checkContent } from './check-content.ts';
import type { SignatureVerdict } from './signature.ts';

export interface CheckInput {
  path: string;
  /** A detached signature, the keys that may have made it, and which of them is meant. */
  signature?: { binary: Uint8Array; armoredKeys: string; fingerprint: string; now: number };
}

export interface Checked extends FileHashes {
  signature?: SignatureVerdict;
}

/** Below this, starting a thread takes longer than the work. */
const SMALL_BYTES = 1024 * 1024;

/** Hashes of a file, and whether its signature is right: for a large one in a thread, for it takes seconds. */
export async function checkFile(input: CheckInput, signal: AbortSignal): Promise<Checked> {
  signal.throwIfAborted();
  return (await stat(input.path)).size <= SMALL_BYTES ? checkContent(input) : inThread(input, signal);
}

function inThread(input: CheckInput, signal: AbortSignal): Promise<Checked> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./check-thread.ts', import.meta.url), { workerData: input });
    const abandon = (): void => void worker.terminate();
    signal.addEventListener('abort', abandon, { once: true });
    let answer: Checked | undefined;
    worker.on('message', (message: Checked) => {
      answer = message;
    });
    worker.on('error', reject);
    worker.on('exit', () => {
      signal.removeEventListener('abort', abandon);
      if (answer !== undefined) resolve(answer);
      else reject(signal.aborted ? signal.reason : new Error(`${input.path} was not checked to its end`));
    });
  });
}
