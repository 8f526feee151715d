import { parentPort, workerData } from 'node:worker_threads';
import { checkContent } from './check-content.ts';
import type { CheckInput } from './check-file.ts';

/** The thread of `check-file.ts`. */
parentPort!.postMessage(await checkContent(workerData as CheckInput));
