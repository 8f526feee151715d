import { expect, it, onTestFinished } from 'vitest';
import { EventLog } from '../../server/events/log.ts';
import { Attempts, idOf } from '../../server/machine/attempts.ts';
import { observeHost } from '../../server/machine/observe.ts';
import { OverdueWatch } from '../../server/machine/overdue.ts';
import { giveOrder } from '../../server/machine/requests.ts';
import { findHostRow, updateHostRow } from '../../server/store/hosts.ts';
import { hostSpec } from '../support/hosts.ts';
import { onEveryStore, type StoreKind } from '../support/stores.ts';

const offer = {
  action: 'run' as const,
  image: 'flatcar/stable/amd64-usr/1.2.3',
  sizes: { kernel: 7, initrd: 11 },
  kernelArguments: [],
  wipe: false,
};

async function world(kind: StoreKind) {
  const store = await kind.open();
  let time = 1_000_000;
  const now = () => time;
  const events = new EventLog({ store, now, keepCount: 1000, keepDays: 1000 });
  onTestFinished(() => events.stop());
  const attempts = new Attempts({ store, events, now, tokenOf: (seed) => `token-${seed}`.slice(0, 22) });
  const host = hostSpec();
  const kinds = async () =>
    (await events.list({ limit: 100 })).map((event) => [event.kind, Object.values(event.data)[0]]);
  return {
    store,
    events,
    attempts,
    host,
    kinds,
    now,
    pass: (seconds: number) => {
      time += seconds * 1000;
    },
    boot: async () => {
      const id = idOf(await attempts.offer(host, offer));
      await attempts.reach(id, host, 'kernel-sent');
      return id;
    },
  };
}

onEveryStore('boot attempts', (kind) => {
  it('a menu that is asked for again has the same token, until its kernel is fetched or it promises something else', async () => {
    const { attempts, host, kinds } = await world(kind);
    const first = await attempts.offer(host, offer);
    expect(first).toMatch(/^[\w-]{22}$/);
    expect(await attempts.offer(host, offer)).toBe(first);
    const other = await attempts.offer(host, { ...offer, image: 'flatcar/stable/amd64-usr/1.2.4' });
    expect(other).not.toBe(first);
    expect(await attempts.find(first)).toBeUndefined();
    await attempts.reach(idOf(other), host, 'kernel-sent');
    expect(await attempts.offer(host, { ...offer, image: 'flatcar/stable/amd64-usr/1.2.4' })).not.toBe(other);
    expect(await attempts.find(other)).toMatchObject({ isOpen: true });
    expect(await kinds()).toEqual([
      ['boot.attempt-opened', 'run'],
      ['boot.stage', 'kernel-sent'],
    ]);
  });

  it('each stage is told once, and late ones move nothing back; after a failure things may go on', async () => {
    const { attempts, host, boot, kinds } = await world(kind);
    const id = await boot();
    for (const stage of [
      'initrd-sent',
      'kernel-sent',
      'boot-complete',
      'initramfs',
      'boot-complete',
      'failed',
      'failed',
      'provisioned',
      'failed',
    ] as const) {
      await attempts.reach(id, host, stage);
    }
    expect((await kinds()).slice(1).map(([, stage]) => stage)).toEqual([
      'kernel-sent',
      'initrd-sent',
      'boot-complete',
      'initramfs',
      'failed',
      'provisioned',
      'failed',
    ]);
    expect(await attempts.byId(id)).toMatchObject({ stage: 'failed' });
    await attempts.reach('x'.repeat(22), host, 'boot-complete');
    expect(await attempts.find('../../etc/passwd')).toBeUndefined();
  });

  it('only attempts that were opened and got nowhere count, and success forgets them', async () => {
    const { attempts, host, boot } = await world(kind);
    expect((await attempts.recordOf('n1')).failures).toBe(0);
    await boot();
    expect((await attempts.recordOf('n1')).failures).toBe(1);
    await attempts.offer(host, { ...offer, image: 'another' });
    expect((await attempts.recordOf('n1')).failures).toBe(1);
    await boot();
    await boot();
    expect((await attempts.recordOf('n1')).failures).toBe(3);
    const id = await boot();
    await attempts.reach(id, host, 'boot-complete');
    expect((await attempts.recordOf('n1')).failures).toBe(0);
    await boot();
    expect((await attempts.recordOf('n1')).failures).toBe(1);
  });

  it('the report of a finished installation, and nothing else, clears the order to install', async () => {
    const { attempts, events, host, boot, now } = await world(kind);
    await giveOrder(events, host, { order: 'reinstall' }, now());
    const id = await boot();
    await attempts.reach(id, host, 'boot-complete');
    expect(await attempts.recordOf('n1')).toHaveProperty('reinstallAt');
    await attempts.reach(id, host, 'installed');
    expect(await attempts.recordOf('n1')).toMatchObject({ installedAt: now() });
    expect(await attempts.recordOf('n1')).not.toHaveProperty('reinstallAt');
  });

  it('a hold stays until it is released, which also forgets failures', async () => {
    const { attempts, events, host, store, boot, now } = await world(kind);
    await boot();
    await giveOrder(events, host, { order: 'hold', reason: 'smoke' }, now());
    expect(await attempts.recordOf('n1')).toMatchObject({ hold: { reason: 'smoke' }, failures: 1 });
    expect(await observeHost(store.db, host, now())).toMatchObject({ state: 'quarantined', hold: 'smoke' });
    await giveOrder(events, host, { order: 'release' }, now());
    expect(await attempts.recordOf('n1')).toEqual({ everReady: false, failures: 0 });
  });

  it('a boot that is silent for too long says since when and after what', async () => {
    const { store, host, boot, now, pass } = await world(kind);
    await boot();
    expect(await observeHost(store.db, host, now())).toMatchObject({
      state: 'netbooting',
      stage: 'kernel-sent',
      overdue: null,
    });
    pass(301);
    expect((await observeHost(store.db, host, now())).overdue).toBe(
      'waiting for its initrd to be fetched since 1970-01-01T00:16:40Z (301 s; expected within 300 s)',
    );
  });

  it('tells once of a boot that is late, and again after it has gone on', async () => {
    const { store, events, attempts, host, boot, now, pass } = await world(kind);
    const onFault = (error: unknown) => expect.unreachable(String(error));
    const watch = new OverdueWatch({ store, events, now, onFault });
    const late = async () =>
      (await events.list({ limit: 100 })).flatMap((event) =>
        event.kind === 'boot.overdue' ? [[event.host, event.data.stage, event.data.waitingFor]] : [],
      );
    const id = await boot();
    await watch.look();
    expect(await late()).toEqual([]);
    pass(301);
    await watch.look();
    await watch.look();
    expect(await late()).toEqual([['n1', 'kernel-sent', 'its initrd to be fetched']]);
    await attempts.reach(id, host, 'initrd-sent');
    pass(400);
    await watch.look();
    expect((await late()).length).toBe(2);
    await attempts.reach(id, host, 'boot-complete');
    pass(100_000);
    await watch.look();
    expect((await late()).length).toBe(2);
  });

  it('a held host stays held whatever it reports, and one that has worked is known as such', async () => {
    const { attempts, events, host, store, boot, now } = await world(kind);
    const id = await boot();
    await giveOrder(events, host, { order: 'hold', reason: 'smoke' }, now());
    await attempts.reach(id, host, 'provisioned');
    expect(await observeHost(store.db, host, now())).toMatchObject({ state: 'quarantined', hold: 'smoke' });
    expect(await attempts.recordOf('n1')).toMatchObject({ everReady: true, failures: 0 });
  });

  it('a host whose node was Ready first is not taken back by its own report of having joined', async () => {
    const { store, attempts, host, boot, now } = await world(kind);
    const id = await boot();
    await updateHostRow(store.db, host.name, { state: 'ready' }, { state: 'assigned', now: now() });
    await attempts.reach(id, host, 'kubeadm-done');
    expect(await findHostRow(store.db, host.name)).toMatchObject({ state: 'ready', joined_at: now() });
    await boot();
    expect((await findHostRow(store.db, host.name))?.state).toBe('netbooting');
  });

  it('fetching begins a boot, but only the whole kernel is a stage', async () => {
    const { attempts, host, store, kinds, now } = await world(kind);
    const id = idOf(await attempts.offer(host, offer));
    await attempts.open(id, host, '10.0.0.9');
    await attempts.open(id, host, '10.0.0.10');
    expect(await attempts.byId(id)).toMatchObject({ openedFrom: '10.0.0.9' });
    expect(await kinds()).toEqual([['boot.attempt-opened', 'run']]);
    expect(await observeHost(store.db, host, now())).toMatchObject({ state: 'netbooting', stage: 'menu' });
  });
});
