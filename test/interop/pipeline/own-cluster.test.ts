import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Vault } from '../../../server/access/vault.ts';
import { EventLog } from '../../../server/events/log.ts';
import { InventoryIndex } from '../../../server/inventory/index.ts';
import type { Inventory } from '../../../server/inventory/model.ts';
import type { ClusterAccess } from '../../../server/pipeline/access.ts';
import { createPipeline } from '../../../server/pipeline/create.ts';
import type { PipelineService } from '../../../server/pipeline/service.ts';
import { openStore, type Store } from '../../../server/store/store.ts';
import { TemplateFolders, templateFolders } from '../../../server/templating/template-folders.ts';
import { inventoryOf, POST_INSTALL } from '../../pipeline/make.ts';
import { ROOT } from '../../support/appliance.ts';
import { ensureControlPlane, machineAddress } from '../../support/control-plane.ts';
import { ensureKubernetesTools } from '../../support/kubectl.ts';
import { ProvisionedClusters } from '../../support/machines.ts';
import { until } from '../../support/poll.ts';
import { StandInCluster } from '../../support/stand-in-cluster.ts';
import { tempFolder } from '../../support/temp.ts';

vi.setConfig({ testTimeout: 240_000 });
const isPossible =
  (await ensureControlPlane()) !== undefined && (await ensureKubernetesTools()) !== undefined;
const CHARTS = join(ROOT, 'test', 'fixtures', 'charts');

/** A cluster that this appliance has the keys of. */
interface Own {
  store: Store;
  events: EventLog;
  clusters: ProvisionedClusters;
  inventory: Inventory;
}

async function own(port: number): Promise<Own> {
  const inventory = inventoryOf(
    `endpoint: "${machineAddress()}:${port}", addons: [{name: cilium, path: ${CHARTS}/cilium}]`,
    `hosts: [{name: n1, pool: control, macs: ["52:54:00:12:34:01"], ip: ${machineAddress()}}]`,
  );
  const store = await openStore({ dataDir: await tempFolder() });
  const events = new EventLog({ store, now: Date.now, keepCount: 1000, keepDays: 1 });
  const index = new InventoryIndex(inventory);
  const clusters = new ProvisionedClusters({
    store,
    events,
    now: Date.now,
    vault: new Vault(Buffer.alloc(32, 5)),
    inventory: () => index,
    templates: new TemplateFolders({ now: Date.now, folders: templateFolders(join(ROOT, 'templates')) }),
    readSecret: () => '',
    isNews: () => true,
    onFault: (error) => console.error(error),
    pace: { lookMs: 100, firstPauseMs: 100, longestPauseMs: 500, restMs: 200 },
  });
  onTestFinished(async () => {
    await clusters.stop();
    await events.stop();
    await store.close();
  });
  return { store, events, clusters, inventory };
}

async function startPipeline(
  { store, events, clusters, inventory }: Own,
  tools: { kubectl: string; helm: string },
  access?: ClusterAccess,
): Promise<PipelineService> {
  const home = await tempFolder();
  const pipeline = createPipeline({
    store,
    events,
    now: Date.now,
    inventory: () => inventory,
    settings: { data: home, inventory: home, postInstall: POST_INSTALL, ...tools },
    env: { PATH: '/usr/bin:/bin', HOME: home },
    clusters,
    readSecret: () => '',
    hash: (text) => text,
    sendSignal: (pid, signal) => {
      try {
        return process.kill(pid, signal);
      } catch {
        return false;
      }
    },
    onFault: (error) => console.error(error),
    timing: { busyMs: 300, idleMs: 500 },
    ...(access === undefined ? {} : { access }),
  });
  await pipeline.start();
  onTestFinished(() => pipeline.stop());
  return pipeline;
}

it.skipIf(!isPossible)('leads a cluster of our own keys through its pipeline, and no other', async () => {
  let ours: Own | undefined;
  const cluster = await StandInCluster.start('lab', async (port) => {
    ours = await own(port);
    const answer = await ours.clusters.answer(ours.inventory.hosts[0]!, machineAddress());
    if (answer.action !== 'init') throw new Error(`told to ${answer.action}`);
    return answer;
  });
  onTestFinished(() => cluster!.stop());
  const { tools, plane } = cluster!;
  const pipeline = await startPipeline(ours!, tools);
  const summary = async (of = pipeline) => (await of.status('lab')).summary;
  expect(await summary()).toMatch(/not been looked at|can not be asked/);
  ours!.clusters.start();
  await cluster!.addNode('n1', { controlPlane: true });
  const isDone = async () => (await pipeline.status('lab')).state === 'done';
  await until('it is done', isDone, 120_000).catch(async (error: unknown) => {
    throw new Error(`${await summary()}\n${plane.log('kube-apiserver')}`, { cause: error });
  });
  const values = await cluster!.get<{ data: { values: string } }>(
    '/api/v1/namespaces/kube-system/configmaps/cilium-config',
  );
  expect(JSON.parse(values.data.values)).toMatchObject({
    k8sServiceHost: machineAddress(),
    k8sServicePort: plane.port,
  });

  // A kubeconfig with other keys: it is refused by its CA, without asking anybody.
  const theirs = await own(plane.port);
  await theirs.clusters.answer(theirs.inventory.hosts[0]!, machineAddress());
  const foreign = await theirs.clusters.applianceKubeconfig('lab', { seconds: 60 });
  const fresh = await own(plane.port);
  await fresh.clusters.answer(fresh.inventory.hosts[0]!, machineAddress());
  const mistaken = await startPipeline(fresh, tools, {
    kubeconfigFor: async () => foreign,
    observe: async () => ({ apiReady: true, nodesReady: 1, schedulable: 1 }),
    authorityOf: (name) => fresh.clusters.authorityOf(name),
  });
  await until('it is refused', async () => (await mistaken.status('lab')).state === 'failed');
  expect(await summary(mistaken)).toMatch(/for another cluster: its CA certificate is not that of lab/);
  expect(await mistaken.logs.list({ cluster: 'lab', limit: 10 })).toEqual([]);
});
