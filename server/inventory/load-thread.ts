import { parentPort, workerData } from 'node:worker_threads';
import { toRailheadError } from '../errors.ts';
import type { ThreadMessage } from './load-in-thread.ts';
import { type LoadRequest, prepare } from './prepare.ts';

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
  const prepared = await prepare(workerData as LoadRequest);
  if (!prepared.accepted) {
    send({ type: 'refused', problems: prepared.problems });
  } else {
    const { inventory, revision, problems, changes } = prepared;
    const { hosts, ...rest } = inventory;
    send({ type: 'head', rest, revision, problems, changes });
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
