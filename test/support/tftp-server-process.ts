/**
 * A TFTP server in a process of its own, started by `tftp-server.ts`: its memory, its sockets and its crashes are its
 * own, and clients that keep a core busy don't slow it down.
 */
import { getHeapStatistics } from 'node:v8';
import type { NewEvent } from '../../server/events/kinds.ts';
import type { EventLog } from '../../server/events/log.ts';
import { EMPTY_INVENTORY } from '../../server/inventory/diff.ts';
import { InventoryIndex } from '../../server/inventory/index.ts';
import { TftpService } from '../../server/tftp/service.ts';
import type { TftpServerSettings, TftpServerStatus } from './tftp-server.ts';

const settings = JSON.parse(process.argv[2]!) as TftpServerSettings;
const index = new InventoryIndex(EMPTY_INVENTORY);
const events = {
  append: async (event: NewEvent) => {
    process.send!({ event });
  },
};

const tftp = new TftpService({
  ...settings,
  port: 0,
  virtualFiles: [],
  // The log itself is the business of other tests.
  events: events as unknown as EventLog,
  inventory: () => index,
  nodeBinary: process.execPath,
  onFault: (error) => {
    throw error;
  },
});

process.on('message', (id) => process.send!({ id, status: status() }));
process.on('disconnect', () => process.exit());
process.send!({ port: await tftp.start() });

function status(): Omit<TftpServerStatus, 'rss' | 'sockets'> {
  globalThis.gc?.();
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return { transfers: tftp.transfers, heap, external };
}
