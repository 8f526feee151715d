import { parentPort, workerData } from 'node:worker_threads';
import { toRailheadError } from '../errors.ts';
import { diffInventories, EMPTY_INVENTORY } from './diff.ts';
import { loadInventoryFolder } from './load.ts';
import type { LoadRequest, ThreadMessage } from './load-in-thread.ts';
import { makeRevision, openRevision } from './revision.ts';

/**
 * Runs in a thread of its own: reading, parsing, checking, hashing and comparing 10,000 hosts takes about a second,
 * in which the main thread has machines to serve. See load-in-thread.ts for the other side.
 */
const HOSTS_A_MESSAGE = 250;

const port = parentPort!;
const send = (message: ThreadMessage): void => port.postMessage(message);
/** The main thread takes the next piece when it has done its other work. */
const taken = (): Promise<void> => new Promise((resolve) => port.once('message', () => resolve()));

try {
  const { dir, shownAs, previous } = workerData as LoadRequest;
  const { inventory, problems } = await loadInventoryFolder(dir, shownAs);
  if (inventory === undefined) {
    send({ type: 'refused', problems });
  } else {
    const revision = makeRevision(inventory);
    const changes = diffInventories(
      previous === undefined ? EMPTY_INVENTORY : openRevision(previous),
      inventory,
    );
    const { hosts, ...rest } = inventory;
    send({ type: 'head', rest, revision, problems, changes: countHostChanges(changes) });
    await taken();
    for (let start = 0; start < hosts.length; start += HOSTS_A_MESSAGE) {
      send({ type: 'hosts', hosts: hosts.slice(start, start + HOSTS_A_MESSAGE) });
      await taken();
    }
    send({ type: 'end' });
  }
} catch (error) {
  const { code, message, hint } = toRailheadError(error);
  send({ type: 'failed', code, message, hint, stack: String((error as Error)?.stack) });
}
port.close();

function countHostChanges(changes: ReturnType<typeof diffInventories>) {
  const count = (change: string): number =>
    changes.filter((entry) => entry.kind === 'host' && entry.change === change).length;
  return { added: count('added'), changed: count('changed'), removed: count('removed') };
}
