import { Worker } from 'node:worker_threads';
import type { Problem } from '../document/problem.ts';
import { type ErrorCode, RailheadError } from '../errors.ts';
import { InventoryIndex } from './index.ts';
import type { HostSpec, Inventory } from './model.ts';
import type { HostChanges, LoadRequest } from './prepare.ts';
import type { Revision } from './revision.ts';

/** What `prepare` gives, with the inventory ready for use. */
export type LoadOutcome =
  | { accepted: true; index: InventoryIndex; revision: Revision; problems: Problem[]; changes: HostChanges }
  | { accepted: false; problems: Problem[] };

/** What the thread says, in this order: head, hosts …, end; or refused; or failed. */
export type ThreadMessage =
  | {
      type: 'head';
      rest: Omit<Inventory, 'hosts'>;
      revision: Revision;
      problems: Problem[];
      changes: HostChanges;
    }
  | { type: 'hosts'; hosts: HostSpec[] }
  | { type: 'end' }
  | { type: 'refused'; problems: Problem[] }
  | { type: 'failed'; code: ErrorCode; message: string; hint: string | undefined; stack: string };

/** An inventory that needs more than this is a mistake; the thread dies instead of the process. */
const MAX_HEAP_MB = 2048;

/** Loads an inventory folder while the main thread goes on with its work. */
export async function loadInThread(request: LoadRequest, signal: AbortSignal): Promise<LoadOutcome> {
  signal.throwIfAborted();
  const worker = new Worker(new URL('./load-thread.ts', import.meta.url), {
    workerData: request,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  const abandon = (): void => void worker.terminate();
  signal.addEventListener('abort', abandon, { once: true });
  return new Promise<LoadOutcome>((resolve, reject) => {
    let head: Extract<ThreadMessage, { type: 'head' }>;
    let index: InventoryIndex;
    worker.on('message', (message: ThreadMessage) => {
      switch (message.type) {
        case 'head':
          head = message;
          index = new InventoryIndex({ ...message.rest, hosts: [] });
          worker.postMessage('next');
          break;
        case 'hosts':
          index.addHosts(message.hosts);
          // Let timers and sockets have their turn before the next piece.
          setImmediate(() => worker.postMessage('next'));
          break;
        case 'end': {
          const { problems, changes } = head;
          const revision = { hash: head.revision.hash, document: Buffer.from(head.revision.document) };
          resolve({ accepted: true, index, revision, problems, changes });
          break;
        }
        case 'refused':
          resolve({ accepted: false, problems: message.problems });
          break;
        case 'failed': {
          const cause = new Error('in the loading thread', { cause: message.stack });
          const extras = message.hint === undefined ? { cause } : { hint: message.hint, cause };
          reject(new RailheadError(message.code, message.message, extras));
          break;
        }
      }
    });
    worker.on('error', (error) => {
      const outOfMemory = (error as { code?: string }).code === 'ERR_WORKER_OUT_OF_MEMORY';
      if (!outOfMemory) return reject(error);
      reject(
        new RailheadError(
          'RH_INVENTORY_INVALID',
          `The inventory needs more than ${MAX_HEAP_MB} MB of memory.`,
          {
            hint: 'Look for a file that is not inventory, or for aliases that repeat large parts.',
          },
        ),
      );
    });
    worker.on('exit', () => reject(signal.reason ?? new Error('the loading thread ended without an answer')));
  }).finally(() => signal.removeEventListener('abort', abandon));
}
