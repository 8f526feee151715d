import { Worker } from 'node:worker_threads';
import type { FileHashes } from '../content/hash-file.ts';
import type { SignatureVerdict } from './signature.ts';

export interface CheckInput {
  path: string;
  /** A detached signature, the keys that may have made it, and which of them is meant. */
  signature?: { binary: Uint8Array; armoredKeys: string; fingerprint: string; now: number };
}

export interface Checked extends FileHashes {
  signature?: SignatureVerdict;
}

/** Hashes of a file, and whether its signature is right: in a thread, for it takes seconds. */
export function checkFile(input: CheckInput, signal: AbortSignal): Promise<Checked> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
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
