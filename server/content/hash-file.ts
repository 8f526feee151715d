import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';

export type Algorithm = 'sha256' | 'sha512';

export interface FileHashes {
  size: number;
  /** In hex. */
  sha256: string;
  sha512: string;
}

/** Below this, starting a thread takes longer than the hashing. */
const SMALL_BYTES = 256 * 1024;

/** Both hashes of a file. A large one is read in a thread: hundreds of megabytes must not hold up who is served. */
export async function hashFile(path: string, signal?: AbortSignal): Promise<FileHashes> {
  signal?.throwIfAborted();
  if ((await stat(path)).size <= SMALL_BYTES) {
    const bytes = await readFile(path);
    const digest = (algorithm: Algorithm) => createHash(algorithm).update(bytes).digest('hex');
    return { size: bytes.length, sha256: digest('sha256'), sha512: digest('sha512') };
  }
  const { size, digests } = await inThread(path, ['sha256', 'sha512'], signal);
  const [sha256 = '', sha512 = ''] = digests;
  return { size, sha256, sha512 };
}

interface ThreadAnswer {
  size: number;
  digests: string[];
}

function inThread(path: string, algorithms: Algorithm[], signal?: AbortSignal): Promise<ThreadAnswer> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./hash-thread.ts', import.meta.url), {
      workerData: { path, algorithms },
    });
    const abandon = (): void => void worker.terminate();
    signal?.addEventListener('abort', abandon, { once: true });
    let answer: ThreadAnswer | undefined;
    worker.on('message', (message: ThreadAnswer) => {
      answer = message;
    });
    worker.on('error', reject);
    worker.on('exit', () => {
      signal?.removeEventListener('abort', abandon);
      if (answer !== undefined) resolve(answer);
      else reject(signal?.reason ?? new Error(`the thread that hashed ${path} ended without an answer`));
    });
  });
}
