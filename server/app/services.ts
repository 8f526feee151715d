import { createAssetService } from '../assets/create.ts';
import { pinOf } from '../assets/pins.ts';
import { ClusterService } from '../cluster/service.ts';
import { Space } from '../content/space.ts';
import { ContentStore } from '../content/store.ts';
import { toRailheadError } from '../errors.ts';
import { FeedService } from '../feed/service.ts';
import { noopDefinition } from '../feed/transfer-definition.ts';
import { createFileSender } from '../http/files/sender.ts';
import { ConfigDelivery } from '../ignition/delivery.ts';
import { sysextsOfHost } from '../ignition/host-sysexts.ts';
import { ConfigRenderer } from '../ignition/renderer.ts';
import { secretReader } from '../ignition/secret-reader.ts';
import { Liveness } from '../machine/liveness.ts';
import { OverdueWatch } from '../machine/overdue.ts';
import { MachineService } from '../machine/service.ts';
import { seeAsker } from '../net/asker.ts';
import { localAddresses } from '../net/interfaces.ts';
import { neighbourMac } from '../net/neighbours.ts';
import { BootService } from '../netboot/service.ts';
import { createPipeline } from '../pipeline/create.ts';
import { TemplateFolders, templateFolders } from '../templating/template-folders.ts';
import { Damper } from '../tftp/damper.ts';
import { VERSION } from '../version.ts';
import type { Foundation } from './foundation.ts';
import type { AppOptions } from './options.ts';
import type { UndoList } from './undo.ts';
import type { Whereabouts } from './whereabouts.ts';

export interface ServicesOptions extends AppOptions {
  foundation: Foundation;
  where: Whereabouts;
  now: () => number;
  undo: UndoList;
  /** Aborted when the server begins to stop. */
  stopSignal: AbortSignal;
}

export type Services = Awaited<ReturnType<typeof startServices>>;

const MEGABYTE = 1024 * 1024;

/** Builds every room's service, hands each what it needs and starts them in order. */
export async function startServices(options: ServicesOptions) {
  const { settings, logger, foundation, where, now, undo } = options;
  const { store, events, vault, authority, inventory, data } = foundation;
  const onFault = (error: unknown) => logger.error({ err: error }, toRailheadError(error).message);
  const isNews = newsFilter();
  const templates = new TemplateFolders({ now, folders: templateFolders(settings.templates) });
  const readSecret = secretReader(settings.inventory, options.env);
  const basics = { store, events, now, isNews };

  const liveness = new Liveness({
    clock: () => performance.now(),
    hosts: () => inventory.index.inventory.hosts.length,
  });
  const boot = new BootService({
    ...basics,
    liveness,
    clock: () => performance.now(),
    isNewSighting: newsFilter(),
    onJoined: (db, host) => clusters.finishJoin(db, host),
    inventory: () => inventory.index,
    assetsDir: settings.assets,
    templates,
    baseUrl: () => where.url,
    maxFailures: settings.maxBootFailures,
    tokenOf: (seed) => vault.token('attempt', seed),
    machineIdOf: (host) => vault.id('machine-id', host),
    recordedSize: (name) => contents.recordedSize(name),
    currentVersion: ({ os }) => pinOf(store.db, os),
  });
  const machines = new MachineService({
    ...basics,
    // Its own: anybody can make the others busy, and must not hide a wrong token behind that.
    isNews: newsFilter(),
    attempts: boot.attempts,
    attemptOf: (token) => boot.attemptOf(token),
    hostOf: (name) => inventory.index.host(name),
    newHosts: settings.newHosts,
    liveness,
    tokenOf: (purpose, ...facts) => vault.token(purpose, ...facts),
    policy: {
      expiryMs: settings.tokenExpiryMinutes * 60_000,
      checkMac: settings.checkMac,
      refuseOtherAddress: settings.refuseOtherAddress,
      hostsWithoutMacs: settings.hostsWithoutMacs,
    },
    askerOf: (address) => seeAsker(address, localAddresses(), neighbourMac),
  });
  const renderer = new ConfigRenderer({
    inventory: () => inventory,
    templates,
    server: () => ({ url: where.url, httpsUrl: where.httpsUrl, ca: authority.certificatePem }),
    readSecret,
    sysextsOf: (host) => sysextsOfHost(host, { baseUrl: where.url, find: (id) => sysexts.images.find(id) }),
    feed: async () => ({ keyring: await sysexts.key.publicKeyring(), noop: noopDefinition() }),
    imageKey: () => assets.signingKey(),
  });
  const delivery = new ConfigDelivery({
    ...basics,
    seal: (content, about) => vault.seal(content, about),
    unseal: (sealed, about) => vault.unseal(sealed, about),
    render: (request) => renderer.render(request),
  });
  const clusters = new ClusterService({
    ...basics,
    vault,
    inventory: () => inventory.index,
    templates,
    readSecret,
    onFault,
  });
  clusters.start();
  undo.add(() => clusters.stop());
  const overdue = new OverdueWatch({ store, events, now, onFault });
  overdue.start();
  undo.add(() => overdue.stop());
  const contents = new ContentStore({
    store,
    assetsDir: settings.assets,
    now,
    space: new Space({ dir: settings.assets, minFreeBytes: settings.assetsMinFreeMegabytes * MEGABYTE }),
  });
  await contents.start();
  undo.add(() => contents.stop());
  const sysexts = new FeedService({
    contents,
    events,
    clusters: () => inventory.index.inventory.clusters,
    assetsDir: settings.assets,
    keysDir: data.keys,
    baseUrl: () => where.url,
    now,
    onFault,
  });
  await sysexts.start();
  undo.add(() => sysexts.stop());
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
  undo.add(() => assets.stop());
  const pipeline = createPipeline({
    store,
    events,
    now,
    inventory: () => inventory.index.inventory,
    settings,
    env: options.env,
    sendSignal: options.sendSignal,
    readSecret,
    clusters,
    hash: (text) => vault.id('pipeline inputs', text),
    onFault,
  });
  await pipeline.start();
  undo.add(() => pipeline.stop());
  // Its programs take their time to end: they are told at once, not when their turn has come.
  options.stopSignal.addEventListener('abort', () => void pipeline.stop().catch(() => {}));
  const files = createFileSender({ cacheBytes: settings.imageCacheMegabytes * MEGABYTE });
  undo.add(() => files.stop());

  return {
    boot,
    machines,
    renderer,
    delivery,
    clusters,
    contents,
    sysexts,
    assets,
    pipeline,
    files,
    isNews,
    onFault,
  };
}

/** Lets a repeated message through now and then: the log is for people. */
function newsFilter(): (source: string, what: string) => boolean {
  const damper = new Damper(() => performance.now());
  return (source, what) => damper.admit(source, what) !== undefined;
}
