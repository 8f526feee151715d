import { hostname } from 'node:os';
import type { FastifyBaseLogger } from 'fastify';
import type { Logger } from 'pino';
import { ensureAdminToken } from './access/admin-token.ts';
import { ensureAuthority, issueServerCertificate } from './access/certificate.ts';
import { ensureVault } from './access/vault.ts';
import { createAgentParts } from './agent/parts.ts';
import { createAssetService } from './assets/create.ts';
import { pinOf } from './assets/pins.ts';
import { OverdueWatch } from './boot/overdue.ts';
import { BootService } from './boot/service.ts';
import { ClusterService } from './cluster/service.ts';
import { Space } from './content/space.ts';
import { ContentStore } from './content/store.ts';
import { DataFolder } from './data-folder.ts';
import { findMissing } from './doctor/missing.ts';
import { StoreRecovery } from './doctor/store-recovery.ts';
import { RailheadError, toRailheadError } from './errors.ts';
import { describeEvent } from './events/describe.ts';
import { LastEvents } from './events/last-events.ts';
import { EventLog } from './events/log.ts';
import { FeedService } from './feed/service.ts';
import { noopDefinition } from './feed/transfer-definition.ts';
import { buildHttpApp } from './http/app.ts';
import type { HttpContext } from './http/context.ts';
import { createFileSender } from './http/files/sender.ts';
import { HttpListener } from './http/listener.ts';
import { ProgressBook } from './http/progress.ts';
import { ConfigDelivery } from './ignition/delivery.ts';
import { sysextsOfHost } from './ignition/host-sysexts.ts';
import { ConfigRenderer } from './ignition/renderer.ts';
import { secretReader } from './ignition/secret-reader.ts';
import { TlsWatch } from './ignition/tls-watch.ts';
import { InventoryKeeper } from './inventory/keeper.ts';
import { type Advertised, chooseAdvertised } from './net/advertise.ts';
import { seeAsker } from './net/asker.ts';
import { defaultInterface, localAddresses } from './net/interfaces.ts';
import { neighbourMac } from './net/neighbours.ts';
import { createPipeline } from './pipeline/create.ts';
import { type Readiness, type Reason, readiness } from './readiness.ts';
import type { Settings } from './settings.ts';
import { adminTokenHashes } from './store/admin-tokens.ts';
import { claimActive } from './store/claim.ts';
import { setMeta } from './store/meta.ts';
import { openStore } from './store/store.ts';
import { TemplateFolders, templateFolders } from './templating/template-folders.ts';
import { bootFiles } from './tftp/boot-files.ts';
import { Damper } from './tftp/damper.ts';
import { TftpService } from './tftp/service.ts';
import { VERSION } from './version.ts';

export interface AppOptions {
  settings: Settings;
  logger: Logger;
  /** The inventory folder's name in messages. */
  inventoryShownAs: string;
  /** The Node that runs this, for messages about rights. */
  nodeBinary: string;
  /** Where secrets of the inventory may be found, besides files. */
  env: Readonly<Record<string, string | undefined>>;
  /** Sends a signal to a process, or to a group (-pid). */
  sendSignal: (pid: number, signal: NodeJS.Signals) => boolean;
  /** It can't go on safely: the process must end at once. */
  onFatal: (error: RailheadError) => void;
}

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

/** A new certificate every day: none ever expires, and it follows the machine's addresses. */
const CERTIFICATE_RENEWAL_MS = 86_400_000;

/** Builds every part, hands each what it needs and starts them in order; on failure, stops what had started. */
export async function startApp(options: AppOptions): Promise<RunningApp> {
  const started: (() => unknown)[] = [];
  try {
    return await start(options, (undo) => started.push(undo));
  } catch (error) {
    // What fails in tidying up must not hide why it was necessary.
    for (const undo of started.reverse()) await (async () => undo())().catch(() => {});
    throw error;
  }
}

async function start(options: AppOptions, onUndo: (undo: () => unknown) => void): Promise<RunningApp> {
  const { settings, logger } = options;
  const now = Date.now;
  const startNotes: Reason[] = [];
  const stopping = new AbortController();

  const data = new DataFolder(settings.data);
  await data.prepare();
  await data.lock();
  onUndo(() => data.unlock());

  const store = await openStore({ dataDir: settings.data, databaseUrl: settings.databaseUrl });
  onUndo(() => store.close());
  const claim = await claimActive(store, settings.databaseUrl, {
    onWait: () => logger.warn('another Railhead is active on this database: waiting as standby'),
    // Another process may be active from now on, and two must never act at once.
    onLost: (cause) =>
      options.onFatal(
        new RailheadError('RH_STORE_UNREACHABLE', 'The lock on the database is lost.', { cause }),
      ),
  });
  onUndo(() => claim.release());

  const { eventsKeepCount: keepCount, eventsKeepDays: keepDays } = settings;
  const events = new EventLog({ store, now, keepCount, keepDays });
  events.subscribe((event) => logger.info({ event: event.kind, host: event.host }, describeEvent(event)));
  events.start();
  onUndo(() => events.stop());

  const lastEvents = new LastEvents();
  await lastEvents.start(store.db, events);

  const authority = await ensureAuthority(data.keys, new Date());
  const vault = await ensureVault(data.keys, {
    file: settings.vaultKeyFile,
    command: settings.vaultKeyCommand,
  });

  const inventory = new InventoryKeeper({
    store,
    events,
    now,
    dir: settings.inventory,
    shownAs: options.inventoryShownAs,
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
  onUndo(() => inventory.stop());
  await inventory.start();
  recovery.start();
  onUndo(() => recovery.stop());

  let advertise: Advertised | undefined;
  // What was asked for, until it is known what it became: requests come in before the last of them listens.
  const ports = { http: settings.httpPort, https: settings.httpsPort, tftp: settings.tftpPort };
  const damper = new Damper(() => performance.now());
  const isNews = (source: string, what: string) => damper.admit(source, what) !== undefined;
  const baseUrl = (): string => advertise?.url ?? '';
  const templates = new TemplateFolders({ now, folders: templateFolders(settings.templates) });
  const boot = new BootService({
    store,
    events,
    inventory: () => inventory.index,
    now,
    assetsDir: settings.assets,
    templates,
    baseUrl,
    maxFailures: settings.maxBootFailures,
    tokenOf: (seed) => vault.token('attempt', seed),
    machineIdOf: (host) => vault.id('machine-id', host),
    recordedSize: (name) => contents.recordedSize(name),
    currentVersion: ({ os }) => pinOf(store.db, os),
    isNews,
  });
  const agents = createAgentParts({
    store,
    events,
    now,
    boot,
    isNews,
    hostOf: (name) => inventory.index.host(name),
    tokenOf: (purpose, ...facts) => vault.token(purpose, ...facts),
    policy: {
      expiryMs: settings.tokenExpiryMinutes * 60_000,
      checkMac: settings.checkMac,
      refuseOtherAddress: settings.refuseOtherAddress,
    },
    askerOf: (address) => seeAsker(address, localAddresses(), neighbourMac),
  });
  const httpsUrl = () => httpsUrlOf(advertise!.address, ports.https);
  const renderer = new ConfigRenderer({
    inventory: () => inventory,
    templates,
    server: () => ({ url: baseUrl(), httpsUrl: httpsUrl(), ca: authority.certificatePem }),
    readSecret: secretReader(settings.inventory, options.env),
    sysextsOf: (host) => sysextsOfHost(host, { baseUrl: baseUrl(), find: (id) => sysexts.images.find(id) }),
    feed: async () => ({ keyring: await sysexts.key.publicKeyring(), noop: noopDefinition() }),
  });
  const clusters = new ClusterService({
    store,
    events,
    now,
    vault,
    inventory: () => inventory.index,
    templates,
    readSecret: secretReader(settings.inventory, options.env),
    isNews,
    onFault: (error) => logger.error({ err: error }, toRailheadError(error).message),
  });
  startNotes.push(...(await clusters.unreadable()).map((message) => ({ part: 'cluster', message })));
  clusters.start();
  onUndo(() => clusters.stop());
  const delivery = new ConfigDelivery({
    store,
    events,
    now,
    isNews,
    seal: (content, about) => vault.seal(content, about),
    unseal: (sealed, about) => vault.unseal(sealed, about),
    render: (request) => renderer.render(request),
  });
  const tlsWatch = new TlsWatch(now);
  const overdue = new OverdueWatch({
    store,
    events,
    now,
    onFault: (error) => logger.error({ err: error }, toRailheadError(error).message),
  });
  overdue.start();
  onUndo(() => overdue.stop());
  const contents = new ContentStore({
    store,
    assetsDir: settings.assets,
    now,
    space: new Space({ dir: settings.assets, minFreeBytes: settings.assetsMinFreeMegabytes * 1024 * 1024 }),
  });
  await contents.start();
  onUndo(() => contents.stop());
  const sysexts = new FeedService({
    contents,
    events,
    clusters: () => inventory.index.inventory.clusters,
    assetsDir: settings.assets,
    keysDir: data.keys,
    baseUrl,
    now,
    onFault: (error) => logger.error({ err: error }, toRailheadError(error).message),
  });
  await sysexts.start();
  onUndo(() => sysexts.stop());
  const assets = createAssetService({
    store,
    events,
    contents,
    assetsDir: settings.assets,
    keysDir: data.keys,
    inventory: () => inventory.index.inventory,
    settings,
    version: VERSION,
    now,
  });
  onUndo(() => assets.stop());
  const pipeline = createPipeline({
    store,
    events,
    now,
    inventory: () => inventory.index.inventory,
    settings,
    env: options.env,
    sendSignal: options.sendSignal,
    readSecret: secretReader(settings.inventory, options.env),
    clusters,
    hash: (text) => vault.id('pipeline inputs', text),
    onFault: (error) => logger.error({ err: error }, toRailheadError(error).message),
  });
  await pipeline.start();
  onUndo(() => pipeline.stop());
  const files = createFileSender({ cacheBytes: settings.imageCacheMegabytes * 1024 * 1024 });
  onUndo(() => files.stop());
  const tftp = new TftpService({
    bind: settings.bind,
    port: settings.tftpPort,
    ports: settings.tftpPorts,
    maxTransfers: settings.tftpMaxTransfers,
    maxPerClient: settings.tftpMaxPerClient,
    bootDir: settings.boot,
    virtualFiles: [bootFiles(boot, baseUrl, now)],
    onSent: (address, file) => boot.noteLoader(address, file),
    events,
    inventory: () => inventory.index,
    nodeBinary: options.nodeBinary,
    onFault: (error) => logger.error({ err: error }, toRailheadError(error).message),
  });

  const currentReadiness = (): Readiness =>
    readiness({ events: recovery, inventory, startNotes, stopping: stopping.signal.aborted });
  const missing = () =>
    findMissing({ inventory: inventory.index.inventory, bootDir: settings.boot, assetsDir: settings.assets });
  const names = (): string[] => {
    const advertised = advertise === undefined ? [] : [advertise.address];
    return [
      ...new Set(['localhost', hostname(), ...localAddresses().map(({ address }) => address), ...advertised]),
    ];
  };
  const context: HttpContext = {
    version: VERSION,
    startedAt: now(),
    store,
    events,
    lastEvent: (host) => lastEvents.of(host),
    inventory,
    inventoryFolder: { dir: settings.inventory, shownAs: options.inventoryShownAs },
    reload: () => recovery.reload(),
    readiness: currentReadiness,
    advertise: () => advertise!,
    ports: () => ports,
    missing,
    boot,
    agents,
    clusters,
    delivery,
    tlsWatch,
    httpsUrl,
    renderer,
    authorityPem: authority.certificatePem,
    assetsDir: settings.assets,
    bootDir: settings.boot,
    files,
    assets,
    sysexts,
    pipeline,
    progress: new ProgressBook(now),
    transfers: () => tftp.transfers,
    adminTokenHashes: () => adminTokenHashes(store.db),
    stopSignal: stopping.signal,
    ownNames: names,
  };
  // Where it listens is in the banner; only what goes wrong is worth a line of its own.
  const level = logger.isLevelEnabled('warn') ? 'warn' : logger.level;
  const fastifyLogger = logger.child({}, { level }) as FastifyBaseLogger;

  const http = new HttpListener(buildHttpApp({ context, logger: fastifyLogger }));
  onUndo(() => http.stop());
  const httpPort = await http.start(settings.bind, settings.httpPort, '--http-port');
  const hosts = inventory.index.inventory.hosts.flatMap(({ ip }) => (ip === undefined ? [] : [ip]));
  advertise = chooseAdvertised({
    wanted: settings.advertise,
    httpPort,
    bind: settings.bind,
    local: localAddresses(),
    hosts,
    defaultInterface: defaultInterface(),
  });
  startNotes.push(...advertise.warnings.map((message) => ({ part: 'network', message })));

  const issue = () => issueServerCertificate(authority, names(), new Date());
  const https = new HttpListener(buildHttpApp({ context, logger: fastifyLogger, tls: await issue() }));
  onUndo(() => https.stop());
  https.onTlsFailure((address, reason) => {
    const event = tlsWatch.failed(address, reason);
    if (event !== undefined && isNews(address, reason)) void events.append(event).catch(() => {});
  });
  const httpsPort = await https.start(settings.bind, settings.httpsPort, '--https-port');
  Object.assign(ports, { http: httpPort, https: httpsPort });
  const renewal = setInterval(
    () =>
      void issue().then(
        (tls) => https.useCertificate(tls),
        (error: unknown) => logger.error({ err: error }, 'the HTTPS certificate could not be renewed'),
      ),
    CERTIFICATE_RENEWAL_MS,
  );
  renewal.unref();
  onUndo(() => clearInterval(renewal));

  const tftpPort = await tftp.start();
  onUndo(() => tftp.stop());
  ports.tftp = tftpPort;
  if (tftp.note !== undefined) startNotes.push({ part: 'tftp', message: tftp.note });

  // Only now that nothing else can fail: a token is shown once, and not to those whose start was refused.
  const newAdminToken = await ensureAdminToken(store, events, data.keys);
  await events.append({
    kind: 'server.started',
    data: { version: VERSION, database: store.dialect, advertise: advertise.url },
  });
  await data.sayRunning({
    pid: process.pid,
    version: VERSION,
    url: localUrl(settings.bind, httpPort),
    httpPort,
    httpsPort,
    tftpPort,
    advertise: advertise.url,
    startedAt: new Date().toISOString(),
  });

  const stop = async (reason: string): Promise<void> => {
    stopping.abort();
    clearInterval(renewal);
    recovery.stop();
    overdue.stop();
    await clusters.stop();
    tftp.stop();
    await Promise.all([http.stop(), https.stop(), pipeline.stop()]);
    await assets.stop();
    await sysexts.stop();
    await contents.stop();
    await inventory.stop();
    await events.append({ kind: 'server.stopped', data: { reason } }).catch((error: unknown) => {
      logger.error({ err: error }, 'the stop could not be recorded');
    });
    await events.stop();
    await claim.release();
    await store.close();
    await data.sayStopped();
    data.unlock();
  };

  return {
    ports,
    inventory,
    events,
    advertise,
    newAdminToken,
    reload: () => recovery.reload(),
    readiness: currentReadiness,
    missing,
    stop,
  };
}

/** Where machines find what carries secrets. */
function httpsUrlOf(address: string, port: number): string {
  return `https://${address.includes(':') ? `[${address}]` : address}:${port}`;
}

/** Where a client on the same machine reaches what listens on `bind`. */
function localUrl(bind: string, port: number): string {
  if (bind === '0.0.0.0' || bind === '::') return `http://127.0.0.1:${port}`;
  return bind.includes(':') ? `http://[${bind}]:${port}` : `http://${bind}:${port}`;
}
