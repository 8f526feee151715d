import { expect, it, onTestFinished } from 'vitest';
import { EventLog } from '../../server/events/log.ts';
import { Attempts, idOf } from '../../server/machine/attempts.ts';
import { Liveness } from '../../server/machine/liveness.ts';
import { observeHost } from '../../server/machine/observe.ts';
import { OverdueWatch } from '../../server/machine/overdue.ts';
import { giveOrder } from '../../server/machine/requests.ts';
import type { Stage } from '../../server/machine/stages.ts';
import { findHostRow, updateHostRow } from '../../server/store/hosts.ts';
import { openWindow } from '../../server/store/machines.ts';
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
  let steady = 0;
  const now = () => time;
  const events = new EventLog({ store, now, keepCount: 1000, keepDays: 1000 });
  onTestFinished(() => events.stop());
  const attempts = new Attempts({
    store,
    events,
    now,
    tokenOf: (seed) => `token-${seed}`.slice(0, 22),
    clock: () => steady,
    liveness: new Liveness({ clock: () => steady, hosts: () => 1 }),
    onJoined: async () => {},
  });
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
      steady += seconds * 1000;
    },
    setClock: (seconds: number) => {
      time += seconds * 1000;
    },
    /** `to`: how far it gets. */
    boot: async (to: Stage = 'kernel-sent') => {
      const id = idOf(await attempts.offer(host, offer));
      await attempts.reach(id, host, 'kernel-sent');
      if (to !== 'kernel-sent') await attempts.reach(id, host, to);
      return id;
    },
    openFrom: async (address: string, { isOwnNic = false, to = 'menu' as Stage } = {}) => {
      const id = idOf(await attempts.offer(host, offer, address));
      await attempts.open(id, host, { address, isOwnNic });
      if (to !== 'menu') await attempts.reach(id, host, to);
      return id;
    },
  };
}

const at = (address: string) => ({ address, isOwnNic: false });

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

  it('only boots that got their configuration and nothing more count as failed, and success forgets them', async () => {
    const { attempts, host, boot } = await world(kind);
    const failures = async () => (await attempts.recordOf('n1')).failures;
    for (let count = 0; count < 5; count++) await boot('pointer-sent');
    expect(await failures()).toBe(0);
    await boot('config-sent');
    expect(await failures()).toBe(1);
    await boot('config-sent');
    await boot('config-sent');
    expect(await failures()).toBe(3);
    const id = await boot('config-sent');
    await attempts.reach(id, host, 'boot-complete');
    expect(await failures()).toBe(0);
  });

  it('opening a boot ends no other, but the one of the same address', async () => {
    const { attempts, openFrom } = await world(kind);
    const first = await openFrom('10.0.0.1');
    const other = await openFrom('10.0.0.2');
    expect(await attempts.byId(first)).toMatchObject({ isOpen: true });
    const again = await openFrom('10.0.0.1');
    expect(await attempts.byId(first)).toBeUndefined();
    for (const id of [other, again]) expect(await attempts.byId(id)).toMatchObject({ isOpen: true });
  });

  it('of too many boots the oldest without a configuration ends first, and never one from a NIC of the host', async () => {
    const { attempts, openFrom, pass } = await world(kind);
    const own = await openFrom('10.0.0.1', { isOwnNic: true });
    pass(1);
    const configured = await openFrom('10.0.0.2', { to: 'config-sent' });
    pass(1);
    const strangers: string[] = [];
    for (let last = 3; last < 9; last++) {
      strangers.push(await openFrom(`10.0.0.${last}`));
      pass(1);
    }
    const isLive = async (id: string) => (await attempts.byId(id)) !== undefined;
    expect(await isLive(own)).toBe(true);
    expect(await isLive(configured)).toBe(true);
    expect(await Promise.all(strangers.map(isLive))).toEqual([false, false, false, false, true, true]);
    const owns = [];
    for (let last = 20; last < 24; last++) owns.push(await openFrom(`10.0.0.${last}`, { isOwnNic: true }));
    expect(await Promise.all(owns.map(isLive))).toEqual([true, true, true, true]);
    const late = await openFrom('10.0.0.66');
    expect(await attempts.byId(late)).toMatchObject({ isOpen: false });
    expect(await Promise.all(owns.map(isLive))).toEqual([true, true, true, true]);
  });

  it('a clock that is set in the middle of a boot does not end it, and time that passes does', async () => {
    const { attempts, boot, pass, setClock } = await world(kind);
    const attempt = (await attempts.byId(await boot()))!;
    setClock(2 * 3600);
    expect(attempts.idleMs(attempt)).toBe(0);
    setClock(-365 * 24 * 3600);
    expect(attempts.idleMs(attempt)).toBe(0);
    setClock(365 * 24 * 3600);
    pass(90);
    expect(attempts.idleMs(attempt)).toBe(90_000);
  });

  it('a host without an identity that gets its configuration days after its kernel has a window again', async () => {
    const { store, attempts, host, boot, now, pass } = await world(kind);
    const id = await boot('config-sent');
    const openedAt = async () => (await openWindow(store.db, host.name))?.opened_at;
    await attempts.reach(id, host, 'installed');
    const first = await openedAt();
    pass(3600);
    await attempts.reach(id, host, 'config-sent');
    expect(await openedAt()).toBe(first);
    pass(2 * 24 * 3600);
    await attempts.reach(id, host, 'config-sent');
    expect(await openedAt()).toBe(now());
  });

  it('a menu that somebody else asked for has another token', async () => {
    const { attempts, host } = await world(kind);
    const own = await attempts.offer(host, offer, '10.0.0.1');
    expect(await attempts.offer(host, offer, '10.0.0.66')).not.toBe(own);
    expect(await attempts.offer(host, offer, '10.0.0.1')).toBe(own);
    for (let last = 100; last < 110; last++) await attempts.offer(host, offer, `10.0.0.${last}`);
    expect(await attempts.find(own)).toBeUndefined();
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
    await boot('config-sent');
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

  it('a hold and a release change nothing of a machine that runs', async () => {
    const { attempts, events, host, store, boot, now } = await world(kind);
    const id = await boot();
    await attempts.reach(id, host, 'provisioned');
    await updateHostRow(store.db, host.name, { state: 'ready' }, { state: 'assigned', now: now() });
    for (const order of [{ order: 'hold', reason: 'smoke' }, { order: 'release' }] as const) {
      await giveOrder(events, host, order, now());
      expect(await observeHost(store.db, host, now())).toMatchObject({ state: 'ready' });
    }
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
    await attempts.open(id, host, at('10.0.0.9'));
    await attempts.open(id, host, at('10.0.0.10'));
    expect(await attempts.byId(id)).toMatchObject({ openedFrom: '10.0.0.9' });
    expect(await kinds()).toEqual([['boot.attempt-opened', 'run']]);
    expect(await observeHost(store.db, host, now())).toMatchObject({ state: 'netbooting', stage: 'menu' });
  });
});
