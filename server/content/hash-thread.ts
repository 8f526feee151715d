import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';

/** Hashes a file from beginning to end; `hash-file.ts` is its other side. */
const { path, algorithms } = workerData as { path: string; algorithms: string[] };
const hashes = algorithms.map((algorithm) => createHash(algorithm));
const buffer = Buffer.allocUnsafeSlow(1024 * 1024);
const fd = openSync(path, 'r');
let size = 0;
try {
  for (let read = readSync(fd, buffer); read > 0; read = readSync(fd, buffer)) {
    for (const hash of hashes) hash.update(buffer.subarray(0, read));
    size += read;
  }
} finally {
  closeSync(fd);
}
parentPort!.postMessage({ size, digests: hashes.map((hash) => hash.digest('hex')) });
