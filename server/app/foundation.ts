import { type Authority, ensureAuthority } from '../access/certificate.ts';
import { ensureVault, type Vault } from '../access/vault.ts';
import { DataFolder } from '../data-folder.ts';
import { StoreRecovery } from '../doctor/store-recovery.ts';
import { RailheadError, toRailheadError } from '../errors.ts';
import { describeEvent } from '../events/describe.ts';
import { LastEvents } from '../events/last-events.ts';
import { EventLog } from '../events/log.ts';
import { InventoryKeeper } from '../inventory/keeper.ts';
import { claimActive } from '../store/claim.ts';
import { setMeta } from '../store/meta.ts';
import { openStore, type Store } from '../store/store.ts';
import type { AppOptions } from './options.ts';
import type { UndoList } from './undo.ts';

/** What everything else stands on: the data folder, the store, the log, the keys and the inventory. */
export interface Foundation {
  data: DataFolder;
  store: Store;
  events: EventLog;
  lastEvents: LastEvents;
  authority: Authority;
  vault: Vault;
  inventory: InventoryKeeper;
  recovery: StoreRecovery;
}

export interface FoundationOptions extends AppOptions {
  now: () => number;
  undo: UndoList;
  /** Why the server stops; `undefined` when it has not even started. */
  stopReason: () => string | undefined;
}

export async function layFoundation(options: FoundationOptions): Promise<Foundation> {
  const { settings, logger, now, undo } = options;
  const data = new DataFolder(settings.data);
  await data.prepare();
  await data.lock();
  undo.add(async () => {
    await data.sayStopped();
    data.unlock();
  });

  const store = await openStore({ dataDir: settings.data, databaseUrl: settings.databaseUrl });
  undo.add(() => store.close());
  const claim = await claimActive(store, settings.databaseUrl, {
    onWait: () => logger.warn('another Railhead is active on this database: waiting as standby'),
    // Another process may be active from now on, and two must never act at once.
    onLost: (cause) =>
      options.onFatal(
        new RailheadError('RH_STORE_UNREACHABLE', 'The lock on the database is lost.', { cause }),
      ),
  });
  undo.add(() => claim.release());

  const { eventsKeepCount: keepCount, eventsKeepDays: keepDays } = settings;
  const events = new EventLog({ store, now, keepCount, keepDays });
  events.subscribe((event) => logger.info({ event: event.kind, host: event.host }, describeEvent(event)));
  events.start();
  undo.add(() => events.stop());
  undo.add(async () => {
    const reason = options.stopReason();
    if (reason !== undefined) await events.append({ kind: 'server.stopped', data: { reason } });
  });
  const lastEvents = new LastEvents();
  await lastEvents.start(store.db, events);

  const authority = await ensureAuthority(data.keys, new Date());
  const vault = await ensureVault(data.keys, {
    file: settings.vaultKeyFile,
    command: settings.vaultKeyCommand,
  });
  const { inventory, recovery } = await startInventory(options, store, events);
  return { data, store, events, lastEvents, authority, vault, inventory, recovery };
}

async function startInventory(
  { settings, logger, now, undo, inventoryShownAs }: FoundationOptions,
  store: Store,
  events: EventLog,
): Promise<Pick<Foundation, 'inventory' | 'recovery'>> {
  const inventory = new InventoryKeeper({
    store,
    events,
    now,
    dir: settings.inventory,
    shownAs: inventoryShownAs,
    watch: settings.watch,
    onFault: (error) => {
      const { code, message } = toRailheadError(error);
      logger.error({ err: error }, message);
      // A fault of the loader itself would be the same the next time.
      if (/^RH_(DISK_FULL|STORE_)/.test(code)) recovery.noteReloadFailure(error);
    },
  });
  const recovery = new StoreRecovery({
    fault: () => events.fault,
    tryWrite: () =>
      events.transact(async (db) => {
        await setMeta(db, 'store.tried', String(now()));
        return [];
      }),
    reload: () => inventory.reload(),
  });
  undo.add(() => inventory.stop());
  await inventory.start();
  recovery.start();
  undo.add(() => recovery.stop());
  return { inventory, recovery };
}
