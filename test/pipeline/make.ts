import { chmodSync, writeFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { EventLog } from '../../server/events/log.ts';
import { secretReader } from '../../server/ignition/secret-reader.ts';
import { loadInventory } from '../../server/inventory/load.ts';
import type { Inventory } from '../../server/inventory/model.ts';
import type { ClusterAccess } from '../../server/pipeline/access.ts';
import type { OwnClusters } from '../../server/pipeline/cluster-access.ts';
import { createPipeline } from '../../server/pipeline/create.ts';
import type { Observation } from '../../server/pipeline/decide.ts';
import type { PipelineService } from '../../server/pipeline/service.ts';
import { openStore, type Store } from '../../server/store/store.ts';
import { until } from '../support/poll.ts';
import { tempFolder } from '../support/temp.ts';

export const POST_INSTALL = fileURLToPath(new URL('../../scripts/post-install', import.meta.url));

/** An inventory of one cluster with what is given of it. */
export function inventoryOf(cluster: string, hosts = CONTROL_PLANE): Inventory {
  const text = `
clusters: [{name: lab, kubernetes: 1.36.4, ${cluster}}]
profiles: [{name: flatcar, os: flatcar}]
pools:
  - {name: control, cluster: lab, role: control-plane, profile: flatcar}
  - {name: workers, cluster: lab, profile: flatcar}
${hosts}`;
  const { inventory, problems } = loadInventory({ files: [{ name: 'lab.yaml', text }], problems: [] });
  if (inventory === undefined) throw new Error(JSON.stringify(problems));
  return inventory;
}

export const CONTROL_PLANE = 'hosts: [{name: n1, pool: control, macs: ["52:54:00:12:34:01"]}]';
export const WITH_WORKER = `hosts: [{name: n1, pool: control, macs: ["52:54:00:12:34:01"]}, {name: n2, pool: workers, macs: ["52:54:00:12:34:02"]}]`;

const NO_CLUSTERS: OwnClusters = {
  statusOf: () => ({ state: 'not-begun', reason: '' }),
  nodesOf: () => [],
  applianceKubeconfig: async () => '',
  authorityOf: async () => undefined,
};

/** A kubeconfig that leads nowhere. */
export const KUBECONFIG = `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: lab, user: u}}]
clusters: [{name: lab, cluster: {server: "https://127.0.0.1:9"}}]
users: [{name: u, user: {token: token-of-the-kubeconfig}}]
`;

export function writeProgram(path: string, text: string): void {
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
}

export interface World {
  pipeline: PipelineService;
  store: Store;
  events: EventLog;
  /** Its own steps; the built-in ones are found, too. */
  scripts: string;
  data: string;
  inventoryDir: string;
  observation: Observation;
  kubeconfig: string;
  uid: string;
  setInventory: (inventory: Inventory) => Promise<void>;
  /** Stops the pipeline, and begins another one on the same store. */
  restart: () => Promise<PipelineService>;
  log: () => Promise<string>;
  settled: (state?: string) => Promise<void>;
}

export interface WorldOptions {
  inventory: Inventory;
  env?: Record<string, string>;
  start?: boolean;
  access?: Partial<ClusterAccess>;
}

/** A pipeline with a real store and real processes, on a cluster that is a shell script. */
export async function world({
  inventory,
  env = {},
  start = true,
  access = {},
}: WorldOptions): Promise<World> {
  const dir = await tempFolder();
  const [scripts, data, inventoryDir, bin] = ['scripts', 'data', 'inventory', 'bin'].map((name) =>
    join(dir, name),
  ) as [string, string, string, string];
  for (const folder of [scripts, data, inventoryDir, bin]) await mkdir(folder);
  const uidFile = join(dir, 'uid');
  await writeFile(uidFile, 'uid-1');
  writeProgram(join(bin, 'kubectl'), `case "$*" in *kube-system*uid*) cat ${uidFile} ;; esac`);
  writeProgram(join(bin, 'helm'), 'exit 0');
  const store = await openStore({ dataDir: data });
  const events = new EventLog({ store, now: Date.now, keepCount: 1000, keepDays: 1 });
  let current = inventory;
  let kubeconfig = KUBECONFIG;
  let observation: Observation = { apiReady: true, nodesReady: 1, schedulable: 1 };
  const make = (): PipelineService =>
    createPipeline({
      store,
      events,
      now: Date.now,
      inventory: () => current,
      env: { PATH: `${bin}:/usr/bin:/bin`, DATABASE_URL: 'postgres://u:database-password@h/d' },
      settings: { data, inventory: inventoryDir, postInstall: scripts, kubectl: 'kubectl', helm: 'helm' },
      clusters: NO_CLUSTERS,
      sendSignal: (pid, signal) => {
        try {
          return process.kill(pid, signal);
        } catch {
          return false;
        }
      },
      readSecret: secretReader(inventoryDir, env),
      hash: (text) =>
        `h${text.length}-${[...text].reduce((sum, c) => (sum * 31 + c.charCodeAt(0)) % 1e9, 7)}`,
      onFault: (error) => console.error(error),
      timing: { busyMs: 20, idleMs: 50 },
      access: { kubeconfigFor: async () => kubeconfig, observe: async () => observation, ...access },
    });
  const running = new Set<PipelineService>();
  onTestFinished(async () => {
    for (const one of running) await one.stop();
    await events.stop();
    await store.close();
  });
  const begin = async (): Promise<PipelineService> => {
    const pipeline = make();
    running.add(pipeline);
    await pipeline.start();
    return pipeline;
  };
  const it: World = {
    pipeline: start ? await begin() : make(),
    store,
    events,
    scripts,
    data,
    inventoryDir,
    get observation() {
      return observation;
    },
    set observation(value) {
      observation = value;
    },
    get kubeconfig() {
      return kubeconfig;
    },
    set kubeconfig(value) {
      kubeconfig = value;
    },
    get uid() {
      return '';
    },
    set uid(value) {
      writeFileSync(uidFile, value);
    },
    setInventory: async (next) => {
      current = next;
      it.pipeline.wake();
    },
    restart: async () => {
      // Never two on one store: that is what the lock on the data folder is for.
      await it.pipeline.stop();
      it.pipeline = await begin();
      return it.pipeline;
    },
    log: async () =>
      (await it.pipeline.logs.list({ cluster: 'lab', limit: 1000 })).map(({ text }) => text).join(''),
    settled: async (state = 'done') => {
      await until(`the pipeline is ${state}`, async () => (await it.pipeline.status('lab')).state === state);
    },
  };
  return it;
}
