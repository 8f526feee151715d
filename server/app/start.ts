import { ensureAdminToken } from '../access/admin-token.ts';
import { findMissing } from '../doctor/missing.ts';
import type { EventLog } from '../events/log.ts';
import type { HttpContext } from '../http/context.ts';
import { ProgressBook } from '../http/progress.ts';
import { TlsWatch } from '../ignition/tls-watch.ts';
import type { InventoryKeeper } from '../inventory/keeper.ts';
import type { Advertised } from '../net/advertise.ts';
import { type Readiness, type Reason, readiness } from '../readiness.ts';
import { adminTokenHashes } from '../store/admin-tokens.ts';
import { bootFiles } from '../tftp/boot-files.ts';
import { TftpService } from '../tftp/service.ts';
import { VERSION } from '../version.ts';
import { layFoundation } from './foundation.ts';
import { listen } from './listeners.ts';
import type { AppOptions } from './options.ts';
import { startServices } from './services.ts';
import { UndoList } from './undo.ts';
import { Whereabouts } from './whereabouts.ts';

/** A running appliance. */
export interface RunningApp {
  readonly ports: { http: number; https: number; tftp: number };
  readonly inventory: InventoryKeeper;
  readonly events: EventLog;
  readonly advertise: Advertised;
  /** Only at the very first start: the admin token, to be shown this once. */
  readonly newAdminToken: string | undefined;
  /** Takes the inventory as it is on disk now. */
  reload(): Promise<void>;
  readiness(): Readiness;
  missing(): ReturnType<typeof findMissing>;
  stop(reason: string): Promise<void>;
}

/** Starts every part in order; on failure, stops what had started. */
export async function startApp(options: AppOptions): Promise<RunningApp> {
  const undo = new UndoList();
  try {
    return await start(options, undo);
  } catch (error) {
    // What fails in tidying up must not hide why it was necessary.
    await undo.run(() => {});
    throw error;
  }
}

async function start(options: AppOptions, undo: UndoList): Promise<RunningApp> {
  const { settings, logger } = options;
  const now = Date.now;
  const stopping = new AbortController();
  let stopReason: string | undefined;

  const foundation = await layFoundation({ ...options, now, undo, stopReason: () => stopReason });
  const { data, store, events, inventory, recovery } = foundation;
  const where = new Whereabouts(settings);
  const services = await startServices({
    ...options,
    foundation,
    where,
    now,
    undo,
    stopSignal: stopping.signal,
  });
  const tftp = new TftpService({
    bind: settings.bind,
    port: settings.tftpPort,
    ports: settings.tftpPorts,
    maxTransfers: settings.tftpMaxTransfers,
    maxPerClient: settings.tftpMaxPerClient,
    bootDir: settings.boot,
    virtualFiles: [bootFiles(services.boot, () => where.url, now)],
    onSent: (address, file) => services.boot.noteLoader(address, file),
    events,
    inventory: () => inventory.index,
    nodeBinary: options.nodeBinary,
    onFault: services.onFault,
  });

  const startNotes: Reason[] = (await services.clusters.unreadable()).map((message) => ({
    part: 'cluster',
    message,
  }));
  const currentReadiness = (): Readiness =>
    readiness({
      events: recovery,
      inventory,
      closed: where.closed,
      startNotes,
      stopping: stopping.signal.aborted,
    });
  const missing = () =>
    findMissing({ inventory: inventory.index.inventory, bootDir: settings.boot, assetsDir: settings.assets });
  const context: HttpContext = {
    ...services,
    version: VERSION,
    startedAt: now(),
    store,
    events,
    lastEvent: (host) => foundation.lastEvents.of(host),
    inventory,
    inventoryFolder: { dir: settings.inventory, shownAs: options.inventoryShownAs },
    reload: () => recovery.reload(),
    readiness: currentReadiness,
    advertise: () => where.advertised,
    ports: () => where.ports,
    missing,
    tlsWatch: new TlsWatch(now),
    httpsUrl: () => where.httpsUrl,
    authorityPem: foundation.authority.certificatePem,
    assetsDir: settings.assets,
    bootDir: settings.boot,
    progress: new ProgressBook(now),
    transfers: () => tftp.transfers,
    adminTokenHashes: () => adminTokenHashes(store.db),
    stopSignal: stopping.signal,
    ownNames: () => where.names(),
  };
  await listen({ ...options, foundation, services, where, context, tftp, undo });
  const { advertised, ports } = where;
  startNotes.push(...advertised.warnings.map((message) => ({ part: 'network', message })));
  if (tftp.note !== undefined) startNotes.push({ part: 'tftp', message: tftp.note });

  // Only now that nothing else can fail: a token is shown once, and not to those whose start was refused.
  const newAdminToken = await ensureAdminToken(store, events, data.keys);
  await events.append({
    kind: 'server.started',
    data: { version: VERSION, database: store.dialect, advertise: advertised.url },
  });
  await data.sayRunning({
    pid: process.pid,
    version: VERSION,
    url: where.localUrl,
    httpPort: ports.http,
    httpsPort: ports.https,
    tftpPort: ports.tftp,
    advertise: advertised.url,
    startedAt: new Date().toISOString(),
  });

  const stop = async (reason: string): Promise<void> => {
    stopReason = reason;
    stopping.abort();
    await undo.run((error) => logger.error({ err: error }, 'a part could not be stopped in good order'));
  };
  return {
    ports,
    inventory,
    events,
    advertise: advertised,
    newAdminToken,
    reload: () => recovery.reload(),
    readiness: currentReadiness,
    missing,
    stop,
  };
}
