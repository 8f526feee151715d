import { expect, it } from 'vitest';
import { findHostRow, updateHostRow } from '../../server/store/hosts.ts';
import { until } from '../support/poll.ts';
import { onEveryStore } from '../support/stores.ts';
import { exampleInventory } from './inventory.ts';
import { clustersOn, nodeNamed } from './service.ts';

const noAnswer = Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNREFUSED' } });

onEveryStore('watching a cluster', (kind) => {
  async function begun(api?: (clusters: ReturnType<typeof clustersOn>) => void) {
    const store = await kind.open();
    const inventory = await exampleInventory();
    const clusters = clustersOn(store, inventory);
    const hostOf = (name: string) => inventory.hosts.find((host) => host.name === name)!;
    await clusters.service.answer(hostOf('c1'), '10.0.0.11');
    api?.(clusters);
    clusters.service.start();
    const kinds = () => clusters.heard.map(({ kind: what }) => what);
    return { store, ...clusters, hostOf, kinds };
  }

  it('asks nobody before somebody has begun', async () => {
    const clusters = clustersOn(await kind.open(), await exampleInventory());
    clusters.service.start();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(clusters.api.lists).toBe(0);
    expect(clusters.service.statusOf('lab')).toMatchObject({ state: 'not-begun' });
  });

  it('an API that is being built is unknown without a word; it is asked ever more seldom', async () => {
    const { service, api, kinds } = await begun(({ api: fake }) => {
      fake.fault = noAnswer;
    });
    await until('it was asked some times', () => api.lists > 4);
    expect(service.statusOf('lab')).toMatchObject({ state: 'unknown', reason: 'no answer (ECONNREFUSED)' });
    expect(kinds()).not.toContain('cluster.api-unknown');
    const before = api.lists;
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(api.lists - before).toBeLessThan(20);
    api.fault = undefined;
    await until('it is up', () => service.statusOf('lab').state === 'up');
    expect(kinds().filter((what) => what === 'cluster.api-up')).toHaveLength(1);
  });

  it('a worker that appears has joined; a control-plane host only when kubeadm has labelled it', async () => {
    const { store, service, api, hostOf, kinds } = await begun();
    await until('it is up', () => service.statusOf('lab').state === 'up');
    await service.answer(hostOf('w1'), 'x');
    await service.answer(hostOf('c2'), 'x');
    await api.tell({ type: 'ADDED', node: nodeNamed('w1', 'False') });
    await api.tell({ type: 'ADDED', node: nodeNamed('c2', 'False') });
    const stateOf = async (name: string) => (await findHostRow(store.db, name))?.state;
    await until('w1 has joined', async () => (await stateOf('w1')) === 'joined');
    expect(await stateOf('c2')).toBe('bootstrapping');
    await expect(service.answer(hostOf('c3'), 'x')).rejects.toThrow(/c2 to join/);
    await api.tell({ type: 'MODIFIED', node: nodeNamed('c2', 'True', { isControlPlane: true }) });
    await until('c2 is ready', async () => (await stateOf('c2')) === 'ready');
    await expect(service.answer(hostOf('c3'), 'x')).resolves.toMatchObject({ action: 'join' });
    expect(kinds().filter((what) => what === 'node.joined')).toHaveLength(2);
    const missing = (await service.describe('lab')).nodes.find(({ name }) => name === 'w1');
    expect(missing).toMatchObject({ ready: 'False', reason: 'CNIMissing' });
  });

  it('a node that is not Ready, or is gone, takes its host back from ready, and is ready again by itself', async () => {
    const { store, service, api, hostOf, kinds } = await begun();
    await until('it is up', () => service.statusOf('lab').state === 'up');
    await service.answer(hostOf('w1'), 'x');
    const becomes = (state: string) =>
      until(`w1 is ${state}`, async () => (await findHostRow(store.db, 'w1'))?.state === state);
    await api.tell({ type: 'ADDED', node: nodeNamed('w1', 'True') });
    await becomes('ready');
    await api.tell({ type: 'MODIFIED', node: nodeNamed('w1', 'False') });
    await becomes('joined');
    await api.tell({ type: 'MODIFIED', node: nodeNamed('w1', 'True') });
    await becomes('ready');
    await api.tell({ type: 'DELETED', node: nodeNamed('w1', 'True') });
    await becomes('joined');
    expect(kinds()).toContain('node.not-ready');
    expect(kinds()).toContain('node.removed');
  });

  it('what an earlier life of a host has left in the API is not taken for its new one', async () => {
    const { store, service, api, hostOf, heard } = await begun();
    await until('it is up', () => service.statusOf('lab').state === 'up');
    await service.answer(hostOf('w1'), 'x');
    const old = nodeNamed('w1', 'True', { createdAt: 1 });
    await api.tell({ type: 'ADDED', node: { ...old, ready: { ...old.ready, heartbeatAt: 2 } } });
    await until('it was seen', () => heard.some(({ kind: what }) => what === 'node.ready'));
    expect(await findHostRow(store.db, 'w1')).toMatchObject({ state: 'bootstrapping', joined_at: null });
    await expect(service.answer(hostOf('w1'), 'x')).resolves.toMatchObject({
      action: 'join',
      before: 'reset',
    });
  });

  it('an API that goes away takes no node with it, and its return is told once', async () => {
    const { service, api, kinds } = await begun(({ api: fake }) => {
      fake.nodes = [nodeNamed('w1', 'True')];
    });
    await until('the node is seen', () => kinds().includes('node.ready'));
    api.fault = noAnswer;
    await api.endWatch();
    await until('it is unknown', () => service.statusOf('lab').state === 'unknown');
    expect((await service.describe('lab')).nodes).toMatchObject([{ name: 'w1', ready: 'Unknown' }]);
    api.fault = undefined;
    await until('it is back', () => service.statusOf('lab').state === 'up');
    expect((await service.describe('lab')).nodes).toMatchObject([{ name: 'w1', ready: 'True' }]);
    for (const [what, times] of [
      ['node.joined', 1],
      ['node.ready', 1],
      ['node.removed', 0],
      ['cluster.api-unknown', 1],
      ['cluster.api-up', 2],
    ] as const) {
      expect(
        kinds().filter((one) => one === what),
        what,
      ).toHaveLength(times);
    }
    api.nodes = [];
    await api.endWatch();
    await until('it is gone', () => kinds().includes('node.removed'));
  });

  it('knows what the API server is and which nodes take pods, and learns when that changes', async () => {
    const { service, api } = await begun(({ api: fake }) => {
      fake.nodes = [nodeNamed('w1', 'True', { takesPods: false })];
    });
    await until('it is up', () => service.statusOf('lab').state === 'up');
    expect((await service.describe('lab')).api.version).toBe('v1.36.4');
    expect(service.nodesOf('lab')).toMatchObject([{ name: 'w1', takesPods: false }]);
    await api.tell({ type: 'MODIFIED', node: nodeNamed('w1', 'True') });
    expect(service.nodesOf('lab')).toMatchObject([{ name: 'w1', takesPods: true }]);
    api.gitVersion = 'v1.37.0';
    await api.endWatch();
    await until('it is asked again', () => service.statusOf('lab').version === 'v1.37.0');
    api.fault = noAnswer;
    await api.endWatch();
    await until('it is unknown', () => service.statusOf('lab').state === 'unknown');
    expect((await service.describe('lab')).api.version).toBe('v1.37.0');
  });

  it('a held host stays held, whatever its node does', async () => {
    const { store, api, service } = await begun();
    await until('it is up', () => service.statusOf('lab').state === 'up');
    const held = { state: 'quarantined', hold_reason: 'by hand', joined_at: 1 };
    await updateHostRow(store.db, 'w1', held, { state: 'assigned', now: 0 });
    await api.tell({ type: 'ADDED', node: nodeNamed('w1', 'True') });
    await until('it was seen', async () => (await service.describe('lab')).nodes.length === 1);
    expect(await findHostRow(store.db, 'w1')).toMatchObject({ state: 'quarantined' });
  });

  it('uses the rights that there are: system:masters only until kubeadm has bound its group', async () => {
    const { service, api, opened } = await begun(({ api: fake }) => {
      fake.isBound = false;
    });
    const groupIn = async (text: string) => {
      const { X509Certificate } = await import('node:crypto');
      const data = /client-certificate-data: (\S+)/.exec(text)![1]!;
      return /O=(.*)/.exec(new X509Certificate(Buffer.from(data, 'base64')).subject)![1];
    };
    expect(await groupIn(await service.applianceKubeconfig('lab'))).toBe('system:masters');
    api.isBound = true;
    expect(await groupIn(await service.applianceKubeconfig('lab'))).toBe('kubeadm:cluster-admins');
    // From then on it is not even asked.
    api.isBound = false;
    expect(await groupIn(await service.applianceKubeconfig('lab'))).toBe('kubeadm:cluster-admins');
    expect(opened.length).toBeLessThan(4);
  });
});
