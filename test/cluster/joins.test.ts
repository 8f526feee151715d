import { describe, expect, it } from 'vitest';
import type { KubeadmAnswer } from '../../server/cluster/joins.ts';
import { updateHostRow } from '../../server/store/hosts.ts';
import { provisioned } from '../support/machines.ts';
import { until } from '../support/poll.ts';
import { onEveryStore } from '../support/stores.ts';
import { exampleInventory } from './inventory.ts';
import { clustersOn, nodeNamed } from './service.ts';

const tokenIn = (answer: KubeadmAnswer): string =>
  /token: (\S+)/.exec('config' in answer ? answer.config : '')?.[1] ?? '';

async function hostOf(name: string) {
  const host = (await exampleInventory()).hosts.find((one) => one.name === name);
  return host!;
}

/** As the appliance does when a host reports. */
async function reportDone(clusters: ReturnType<typeof clustersOn>, name: string) {
  await clusters.events.transact(async (db) => {
    await updateHostRow(db, name, { joined_at: Date.now(), state: 'joined' }, { state: 'assigned', now: 0 });
    await clusters.service.finishJoin(db, name);
    return [];
  });
}

async function apiUp(clusters: ReturnType<typeof clustersOn>) {
  clusters.service.start();
  await until('the API is seen', () => clusters.service.statusOf('lab').state === 'up');
}

onEveryStore('kubeadm', (kind) => {
  it('one of many that ask at the same time begins, and it keeps that for ever', async () => {
    const store = await kind.open();
    const { service } = clustersOn(store, await exampleInventory());
    for (const name of ['c1', 'c2', 'c3']) await provisioned(store.db, name, Date.now());
    const asking = ['c1', 'c2', 'c3', 'c1', 'c2', 'c3'].map(async (name) =>
      service.answer(await hostOf(name), '10.0.0.1').then(
        ({ action }) => `${name} ${action}`,
        (error: Error) => `${name} waits: ${error.message}`,
      ),
    );
    const answers = await Promise.all(asking);
    const first = answers.find((answer) => answer.endsWith(' init'))!.slice(0, 2);
    for (const answer of answers) {
      expect(answer).toMatch(
        new RegExp(`^${first} init$|^c. waits: c. waits for the API of lab, which ${first} is`),
      );
    }
    // Another process on the same store, after a crash of the first.
    const other = clustersOn(store, await exampleInventory());
    await expect(other.service.answer(await hostOf(first), '10.0.0.1')).resolves.toMatchObject({
      action: 'init',
      before: 'reset',
    });
    const loser = ['c1', 'c2', 'c3'].find((name) => name !== first)!;
    await expect(other.service.answer(await hostOf(loser), '10.0.0.1')).rejects.toMatchObject({
      code: 'RH_CLUSTER_WAITS',
      status: 503,
    });
  });

  it('two processes that let two hosts begin at the same time: the database lets one through', async () => {
    const store = await kind.open();
    const one = clustersOn(store, await exampleInventory());
    const other = clustersOn(store, await exampleInventory());
    await one.service.secrets.ensure('lab');
    const results = await Promise.allSettled([
      one.service.answer(await hostOf('c1'), 'a'),
      other.service.answer(await hostOf('c2'), 'b'),
    ]);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await store.db.selectFrom('init_claims').selectAll().execute()).toHaveLength(1);
  });

  it('the same host gets the same answer: the same PKI, the same tokens', async () => {
    const { service } = clustersOn(await kind.open(), await exampleInventory());
    const first = await service.answer(await hostOf('c1'), '10.0.0.11');
    const again = await service.answer(await hostOf('c1'), '10.0.0.11');
    expect({ ...again, before: 'nothing' }).toEqual(first);
    expect('config' in first && first.config.match(/token: /g)).toHaveLength(4);
  });
});

describe('joining', () => {
  onEveryStore('', (kind) => {
    it('control-plane hosts join one at a time, workers beside them, each with its own token', async () => {
      const store = await kind.open();
      const clusters = clustersOn(store, await exampleInventory());
      const { service, api } = clusters;
      await service.answer(await hostOf('c1'), '10.0.0.11');
      await expect(service.answer(await hostOf('w1'), 'x')).rejects.toThrow(/waits for the API of lab/);
      await apiUp(clusters);
      await reportDone(clusters, 'c1');
      const c2 = await service.answer(await hostOf('c2'), 'x');
      expect(c2).toMatchObject({ action: 'join', before: 'nothing' });
      await expect(service.answer(await hostOf('c3'), 'x')).rejects.toThrow(/waits for c2 to join/);
      const [w1, w2] = [
        await service.answer(await hostOf('w1'), 'x'),
        await service.answer(await hostOf('w2'), 'x'),
      ];
      const tokens = [c2, w1, w2].map(tokenIn);
      expect(new Set(tokens).size).toBe(3);
      for (const token of tokens) expect(api.tokens.has(token.slice(0, 6))).toBe(true);
      // A worker gets no key of anything.
      expect('files' in w1 && w1.files).toEqual([]);
      expect(tokenIn(await service.answer(await hostOf('w1'), 'x'))).toBe(tokens[1]);
      await reportDone(clusters, 'c2');
      await expect(service.answer(await hostOf('c2'), 'x')).resolves.toEqual({ action: 'none' });
      await api.endWatch();
      await until('its token is gone', () => !api.tokens.has(tokens[0]!.slice(0, 6)));
      await expect(service.answer(await hostOf('c3'), 'x')).resolves.toMatchObject({ action: 'join' });
    });

    it('a turn that is over goes to the next', async () => {
      let now = Date.now();
      const store = await kind.open();
      const clusters = clustersOn(store, await exampleInventory(), { now: () => now });
      await clusters.service.answer(await hostOf('c1'), 'x');
      await apiUp(clusters);
      await reportDone(clusters, 'c1');
      await clusters.service.answer(await hostOf('c2'), 'x');
      now += 21 * 60_000;
      await expect(clusters.service.answer(await hostOf('c3'), 'x')).resolves.toMatchObject({
        action: 'join',
      });
      await expect(clusters.service.answer(await hostOf('c2'), 'x')).rejects.toThrow(/waits for c3 to join/);
    });

    it('another host takes over only when a person says so, and not while the API answers', async () => {
      const store = await kind.open();
      const clusters = clustersOn(store, await exampleInventory());
      const { service, api, heard } = clusters;
      await service.answer(await hostOf('c1'), 'x');
      await expect(service.answer(await hostOf('c2'), 'x')).rejects.toThrow(/c1 is setting up/);
      const before = await service.authorityOf('lab');
      await expect(service.reinit('lab', { newSecrets: false })).rejects.toMatchObject({
        code: 'RH_CLUSTER_ALIVE',
      });
      api.fault = new TypeError('fetch failed');
      await service.reinit('lab', { newSecrets: false });
      await expect(service.answer(await hostOf('c2'), 'x')).resolves.toMatchObject({
        action: 'init',
        before: 'nothing',
      });
      await expect(service.answer(await hostOf('c1'), 'x')).rejects.toThrow(/c2 is setting up/);
      expect(await service.authorityOf('lab')).toBe(before);
      await service.reinit('lab', { newSecrets: true });
      expect(await service.authorityOf('lab')).not.toBe(before);
      expect(heard.filter(({ kind: what }) => what === 'cluster.reinit')).toHaveLength(2);
      await service.answer(await hostOf('c3'), 'x');
      api.fault = undefined;
      api.nodes = [nodeNamed('c3', 'True')];
      await apiUp(clusters);
      await expect(service.reinit('lab', { newSecrets: true })).rejects.toMatchObject({
        code: 'RH_CLUSTER_ALIVE',
      });
    });
  });
});
