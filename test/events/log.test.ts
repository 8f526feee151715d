import { expect, it, onTestFinished } from 'vitest';
import type { Event } from '../../server/events/kinds.ts';
import { LastEvents } from '../../server/events/last-events.ts';
import { EventLog } from '../../server/events/log.ts';
import { getMeta, setMeta } from '../../server/store/meta.ts';
import type { Store } from '../../server/store/store.ts';
import { onEveryStore } from '../support/stores.ts';

const event = (reason: string) => ({ kind: 'server.stopped', data: { reason } }) as const;

function logOn(store: Store, limits = { keepCount: 1000, keepDays: 1 }, now = () => 1_000_000): EventLog {
  const log = new EventLog({ store, now, ...limits });
  log.start();
  onTestFinished(() => log.stop());
  return log;
}

onEveryStore('event log', (kind) => {
  it('acknowledges an event when it can be read back', async () => {
    const log = logOn(await kind.open());
    const acknowledged = await log.append({ ...event('a'), host: 'n1', attempt: 't1' });
    expect(await log.list({ limit: 5 })).toEqual([acknowledged]);
    expect(acknowledged).toEqual({
      id: acknowledged.id,
      at: 1_000_000,
      host: 'n1',
      attempt: 't1',
      ...event('a'),
    });
  });

  it('tells listeners everything once, in the order of ids, whoever appended', async () => {
    const log = logOn(await kind.open());
    const heard: Event[] = [];
    const stop = log.subscribe((one) => heard.push(one));
    await Promise.all([
      ...Array.from({ length: 50 }, (_, n) => log.append(event(`append ${n}`))),
      ...Array.from({ length: 5 }, (_, n) => log.transact(async () => [event(`change ${n}`), event('more')])),
    ]);
    stop();
    await log.append(event('unheard'));
    expect(heard).toHaveLength(60);
    expect(heard.map(({ id }) => id)).toEqual(heard.map(({ id }) => id).toSorted((a, b) => a - b));
    expect(await log.list({ limit: 100 })).toHaveLength(61);
  });

  it('commits a change and its events together, or neither', async () => {
    const store = await kind.open();
    const log = logOn(store);
    await log.transact(async (db) => {
      await setMeta(db, 'colour', 'red');
      return [event('painted')];
    });
    const failure = log.transact(async (db) => {
      await setMeta(db, 'colour', 'blue');
      throw new Error('out of paint');
    });
    await expect(failure).rejects.toThrow('out of paint');
    expect(await getMeta(store.db, 'colour')).toBe('red');
    expect(await log.list({ limit: 10 })).toHaveLength(1);
    await log.append(event('goes on'));
    expect(log.fault).toBeUndefined();
  });

  it('tells the appender, and remembers the fault, when the store fails', async () => {
    const store = await kind.open();
    const log = logOn(store);
    await store.db.schema.dropTable('events').execute();
    await expect(log.append(event('lost'))).rejects.toThrow();
    expect(log.fault).toBeDefined();
  });

  it('keeps no more than it should', async () => {
    const log = logOn(await kind.open(), { keepCount: 10, keepDays: 1 });
    await Promise.all(Array.from({ length: 4500 }, (_, n) => log.append(event(String(n)))));
    await log.prune();
    const kept = await log.list({ limit: 100 });
    expect(kept.map(({ data }) => data)).toEqual(
      Array.from({ length: 10 }, (_, n) => ({ reason: String(4490 + n) })),
    );
  });

  it('loses nothing that was appended before it stops', async () => {
    const store = await kind.open();
    const log = logOn(store);
    const appended = Array.from({ length: 20 }, (_, n) => log.append(event(String(n))));
    await log.stop();
    expect(await Promise.all(appended)).toHaveLength(20);
  });
});

onEveryStore('changes that share a commit', (kind) => {
  it('fail alone: what others did in the same commit stays', async () => {
    const store = await kind.open();
    const log = logOn(store);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 30 }, (_, n) =>
        log.transact(async (db) => {
          await setMeta(db, `key ${n}`, 'done');
          if (n % 3 === 0) throw new Error(`no ${n}`);
          return [event(String(n))];
        }),
      ),
    );
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(10);
    expect(await getMeta(store.db, 'key 3')).toBeUndefined();
    expect(await getMeta(store.db, 'key 4')).toBe('done');
    expect(await log.list({ limit: 100 })).toHaveLength(20);
    expect(log.fault).toBeUndefined();
  });

  it('the newest event of each host is known, from before and since', async () => {
    const store = await kind.open();
    const log = logOn(store);
    await log.append({ ...event('old'), host: 'n1' });
    await log.append({ ...event('older'), host: 'n2' });
    await log.append({ ...event('newer'), host: 'n2' });
    const last = new LastEvents();
    await last.start(store.db, log);
    expect(last.of('n2')).toMatchObject({ data: { reason: 'newer' } });
    await log.append({ ...event('newest'), host: 'n1' });
    expect(last.of('n1')).toMatchObject({ data: { reason: 'newest' } });
    expect(last.of('n3')).toBeUndefined();
  });
});
