import { Worker } from 'node:worker_threads';

/** The SHA-256 of an open file, or undefined if it is shorter than that. The main thread goes on with its work. */
export function hashInThread(fd: number, size: number, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const worker = new Worker(new URL('./hash-thread.ts', import.meta.url), { workerData: { fd, size } });
    const abandon = (): void => void worker.terminate();
    signal.addEventListener('abort', abandon, { once: true });
    let answer: string | undefined;
    worker.on('message', (hash: string | undefined) => {
      answer = hash;
    });
    worker.on('error', reject);
    // Only now does nothing use the descriptor any more.
    worker.on('exit', () => {
      signal.removeEventListener('abort', abandon);
      if (signal.aborted) reject(signal.reason);
      else resolve(answer);
    });
  });
}
