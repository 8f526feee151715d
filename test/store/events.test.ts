import { expect, it } from 'vitest';
import { insertEvents, listEvents, pruneEvents } from '../../server/store/events.ts';
import { onEveryStore } from '../support/stores.ts';

const row = (n: number, host: string | null = null, kind = 'k') => ({
  at: n,
  kind,
  host,
  attempt: null,
  data: `{"n":${n}}`,
});

onEveryStore('events', (kind) => {
  it('get ids in the order in which they were inserted, also in large numbers', async () => {
    const { db } = await kind.open();
    const inserted = await insertEvents(
      db,
      Array.from({ length: 6001 }, (_, n) => row(n)),
    );
    expect(inserted.map(({ at }) => at)).toEqual(Array.from({ length: 6001 }, (_, n) => n));
    const stored = await listEvents(db, { after: 0, limit: 10_000 });
    expect(stored).toEqual(inserted);
  });

  it('are listed newest last, by host, by kind, and after an id', async () => {
    const { db } = await kind.open();
    await insertEvents(db, [row(1, 'a'), row(2, 'b'), row(3, 'a', 'other'), row(4, 'a')]);
    const at = async (query: Partial<Parameters<typeof listEvents>[1]>) =>
      (await listEvents(db, { limit: 10, ...query })).map((event) => event.at);
    expect(await at({})).toEqual([1, 2, 3, 4]);
    expect(await at({ limit: 2 })).toEqual([3, 4]);
    expect(await at({ host: 'a' })).toEqual([1, 3, 4]);
    expect(await at({ host: 'a', kind: 'k' })).toEqual([1, 4]);
    const [, second] = await listEvents(db, { limit: 10 });
    expect(await at({ after: second!.id, limit: 1 })).toEqual([3]);
  });

  it('are pruned by number and by age; ids are never used again', async () => {
    const { db } = await kind.open();
    await insertEvents(
      db,
      Array.from({ length: 10 }, (_, n) => row(n)),
    );
    expect(await pruneEvents(db, { count: 6, since: 0 })).toBe(4);
    expect(await pruneEvents(db, { count: 6, since: 8 })).toBe(4);
    expect((await listEvents(db, { limit: 10 })).map((event) => event.at)).toEqual([8, 9]);
    expect(await pruneEvents(db, { count: 100, since: 1000 })).toBe(2);
    const [next] = await insertEvents(db, [row(11)]);
    expect(next!.id).toBe(11);
    expect(await pruneEvents(db, { count: 100, since: 0 })).toBe(0);
  });
});
