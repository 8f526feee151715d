import { createHash } from 'node:crypto';
import { readSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';

/** Hashes an open file from beginning to end; `hash-in-thread.ts` is its other side. */
const { fd, size } = workerData as { fd: number; size: number };
const hash = createHash('sha256');
const buffer = Buffer.allocUnsafeSlow(1024 * 1024);
let at = 0;
for (let read = -1; read !== 0 && at < size; at += read) {
  read = readSync(fd, buffer, 0, Math.min(buffer.length, size - at), at);
  hash.update(buffer.subarray(0, read));
}
parentPort!.postMessage(at === size ? hash.digest('hex') : undefined);
