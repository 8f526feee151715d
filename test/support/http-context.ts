import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { hashToken } from '../../server/access/admin-token.ts';
import { Vault } from '../../server/access/vault.ts';
import { createAssetService } from '../../server/assets/create.ts';
import { Space } from '../../server/content/space.ts';
import { ContentStore } from '../../server/content/store.ts';
import { EventLog } from '../../server/events/log.ts';
import { FeedService } from '../../server/feed/service.ts';
import { noopDefinition } from '../../server/feed/transfer-definition.ts';
import type { HttpContext } from '../../server/http/context.ts';
import { createFileSender } from '../../server/http/files/sender.ts';
import { ProgressBook } from '../../server/http/progress.ts';
import { ConfigDelivery } from '../../server/ignition/delivery.ts';
import { sysextsOfHost } from '../../server/ignition/host-sysexts.ts';
import { ConfigRenderer } from '../../server/ignition/renderer.ts';
import { TlsWatch } from '../../server/ignition/tls-watch.ts';
import { InventoryIndex } from '../../server/inventory/index.ts';
import type { InventoryKeeper } from '../../server/inventory/keeper.ts';
import { loadInventoryFolder } from '../../server/inventory/load.ts';
import { Liveness } from '../../server/machine/liveness.ts';
import { MachineService } from '../../server/machine/service.ts';
import { BootService } from '../../server/netboot/service.ts';
import { createPipeline } from '../../server/pipeline/create.ts';
import { openStore } from '../../server/store/store.ts';
import { TemplateFolders } from '../../server/templating/template-folders.ts';
import { ProvisionedClusters } from './machines.ts';
import { tempFolder } from './temp.ts';

const EXAMPLE = fileURLToPath(new URL('../../inventory', import.meta.url));
const POST_INSTALL = fileURLToPath(new URL('../../scripts/post-install', import.meta.url));
const TEMPLATES = fileURLToPath(new URL('../../templates', import.meta.url));

export const TOKEN = 'rh_a-token-for-tests';

/** What the HTTP app is given: a real store and a real log, the example as inventory, nothing that listens. */
export async function httpContext(overrides: Partial<HttpContext> = {}): Promise<HttpContext> {
  const store = await openStore({ dataDir: await tempFolder() });
  const events = new EventLog({ store, now: Date.now, keepCount: 100_000, keepDays: 1 });
  onTestFinished(async () => {
    await events.stop();
    await store.close();
  });
  const { inventory } = await loadInventoryFolder(EXAMPLE, 'inventory');
  const keeper = {
    index: new InventoryIndex(inventory!),
    revision: 'feedfacefeedface',
    warnings: [],
    rejection: undefined,
  };
  const assetsDir = await tempFolder();
  const advertised = { url: 'http://10.0.0.5:8080', address: '10.0.0.5', reason: 'a test', warnings: [] };
  const vault = new Vault(Buffer.alloc(32, 7));
  const templates = templatesIn(TEMPLATES);
  const liveness = new Liveness({ clock: () => performance.now(), hosts: () => 3 });
  const boot = new BootService({
    store,
    events,
    inventory: () => keeper.index,
    now: Date.now,
    assetsDir,
    templates,
    baseUrl: () => advertised.url,
    maxFailures: 3,
    tokenOf: (seed) => vault.token('attempt', seed),
    machineIdOf: (host) => vault.id('machine-id', host),
    recordedSize: async () => undefined,
    currentVersion: async () => undefined,
    isNews: () => true,
    liveness,
    clock: () => performance.now(),
    isNewSighting: () => true,
    onJoined: (db, host) => clusters.finishJoin(db, host),
  });
  const machines = new MachineService({
    store,
    events,
    now: Date.now,
    attempts: boot.attempts,
    attemptOf: (token) => boot.attemptOf(token),
    isNews: () => true,
    hostOf: (name) => keeper.index.host(name),
    tokenOf: (purpose, ...facts) => vault.token(purpose, ...facts),
    policy: { expiryMs: 3_600_000, checkMac: true, refuseOtherAddress: false, hostsWithoutMacs: 'wait' },
    askerOf: (address) => ({ address, isAttached: false }),
    newHosts: 'accept',
    liveness,
  });
  const clusters = new ProvisionedClusters({
    store,
    events,
    now: Date.now,
    vault,
    inventory: () => keeper.index,
    templates,
    readSecret: () => 'found-secret',
    isNews: () => true,
    onFault: () => {},
  });
  const contents = new ContentStore({
    store,
    assetsDir,
    now: Date.now,
    space: new Space({ dir: assetsDir, minFreeBytes: 0 }),
  });
  const sysexts = new FeedService({
    contents,
    events,
    clusters: () => keeper.index.inventory.clusters,
    assetsDir,
    keysDir: await tempFolder(),
    baseUrl: () => advertised.url,
    now: Date.now,
    onFault: () => {},
  });
  await sysexts.start();
  onTestFinished(() => sysexts.stop());
  // Nothing listens there: what is fetched from in tests of its own.
  const nowhere = 'http://127.0.0.1:9/{name}';
  const assets = createAssetService({
    store,
    events,
    contents,
    assetsDir,
    keysDir: await tempFolder(),
    inventory: () => keeper.index.inventory,
    version: '0.0.0',
    now: Date.now,
    settings: {
      assetsParallel: 1,
      flatcarMirror: nowhere,
      updateMirror: nowhere,
      bakeryMirror: nowhere,
      flatcarKeyUrl: nowhere,
      flatcarKeyFingerprint: '0'.repeat(40),
    },
  });
  onTestFinished(() => assets.stop());
  // Never started: nobody leads the clusters of these tests anywhere.
  const pipeline = createPipeline({
    store,
    events,
    now: Date.now,
    inventory: () => keeper.index.inventory,
    env: {},
    sendSignal: () => false,
    readSecret: () => 'found-secret',
    clusters,
    hash: (text) => vault.id('pipeline inputs', text),
    onFault: () => {},
    settings: {
      data: await tempFolder(),
      inventory: EXAMPLE,
      postInstall: POST_INSTALL,
      kubectl: 'kubectl',
      helm: 'helm',
    },
  });
  const files = createFileSender({ cacheBytes: 1024 * 1024 });
  onTestFinished(() => files.stop());
  return {
    version: '0.0.0',
    startedAt: 0,
    store,
    events,
    lastEvent: () => undefined,
    inventory: keeper as unknown as InventoryKeeper,
    advertise: () => advertised,
    ports: () => ({ http: 8080, https: 8443, tftp: 69 }),
    inventoryFolder: { dir: EXAMPLE, shownAs: 'inventory' },
    boot,
    machines,
    clusters,
    delivery: new ConfigDelivery({
      store,
      events,
      now: Date.now,
      isNews: () => true,
      seal: (content, about) => vault.seal(content, about),
      unseal: (sealed, about) => vault.unseal(sealed, about),
      render: async ({ host, purpose, token }) => ({
        bytes: Buffer.from(JSON.stringify({ host: host.name, purpose, token })),
      }),
    }),
    renderer: new ConfigRenderer({
      inventory: () => keeper,
      templates,
      server: () => ({ url: advertised.url, httpsUrl: 'https://10.0.0.5:8443', ca: 'the certificate' }),
      readSecret: () => 'found-secret',
      sysextsOf: (host) =>
        sysextsOfHost(host, { baseUrl: advertised.url, find: (id) => sysexts.images.find(id) }),
      feed: async () => ({ keyring: await sysexts.key.publicKeyring(), noop: noopDefinition() }),
    }),
    tlsWatch: new TlsWatch(Date.now),
    httpsUrl: () => 'https://10.0.0.5:8443',
    authorityPem: '-----BEGIN CERTIFICATE-----\n',
    assetsDir,
    bootDir: await tempFolder(),
    files,
    assets,
    sysexts,
    pipeline,
    progress: new ProgressBook(Date.now),
    missing: async () => [],
    reload: async () => {},
    transfers: () => [],
    readiness: () => ({ ready: true, reasons: [], notes: [], revision: 'feedfacefeedface' }),
    adminTokenHashes: async () => [hashToken(TOKEN)],
    stopSignal: new AbortController().signal,
    ownNames: () => ['deploy.example', 'Rack-Server'],
    ...overrides,
  };
}

export function templatesIn(dir: string): TemplateFolders {
  return new TemplateFolders({ now: Date.now, folders: [{ dir, shownAs: 'templates' }] });
}
