import type { Db } from './store.ts';

export interface EventRow {
  id: number;
  at: number;
  kind: string;
  host: string | null;
  attempt: string | null;
  data: string;
}

export type NewEventRow = Omit<EventRow, 'id'>;

export interface EventQuery {
  /** Only events after this id. */
  after?: number | undefined;
  host?: string | undefined;
  kind?: string | undefined;
  limit: number;
}

/** SQLite takes at most 32,766 values in one statement; an event has five. */
const ROWS_A_STATEMENT = 5000;

export async function insertEvents(db: Db, rows: readonly NewEventRow[]): Promise<EventRow[]> {
  const inserted: EventRow[] = [];
  for (let start = 0; start < rows.length; start += ROWS_A_STATEMENT) {
    const chunk = rows.slice(start, start + ROWS_A_STATEMENT);
    const returned = await db.insertInto('events').values(chunk).returning('id').execute();
    // Ids are given in the order of the rows, but no database promises to return them in it.
    const ids = returned.map(({ id }) => id).sort((a, b) => a - b);
    chunk.forEach((row, index) => {
      inserted.push({ id: ids[index]!, ...row });
    });
  }
  return inserted;
}

/** The newest events that match, oldest first; with `after`, the first ones after it. */
export async function listEvents(db: Db, { after, host, kind, limit }: EventQuery): Promise<EventRow[]> {
  let query = db.selectFrom('events').selectAll();
  if (host !== undefined) query = query.where('host', '=', host);
  if (kind !== undefined) query = query.where('kind', '=', kind);
  if (after !== undefined) {
    return query.where('id', '>', after).orderBy('id', 'asc').limit(limit).execute();
  }
  return (await query.orderBy('id', 'desc').limit(limit).execute()).reverse();
}

export interface EventRetention {
  /** How many events are kept. */
  count: number;
  /** Events before this time are dropped. */
  since: number;
}

export const PRUNE_BATCH = 2000;

/** Drops what is beyond the limits, at most a batch of it, so that a large clean-up never holds others up. */
export async function pruneEvents(db: Db, { count, since }: EventRetention): Promise<number> {
  const newest = await db.selectFrom('events').select('id').orderBy('id', 'desc').limit(1).executeTakeFirst();
  if (newest === undefined) return 0;
  const doomed = db
    .selectFrom('events')
    .select('id')
    .where((where) => where.or([where('id', '<=', newest.id - count), where('at', '<', since)]))
    .orderBy('id')
    .limit(PRUNE_BATCH);
  const { numDeletedRows } = await db.deleteFrom('events').where('id', 'in', doomed).executeTakeFirst();
  return Number(numDeletedRows);
}

/** The newest event of each host that has any. */
export async function lastEvents(db: Db): Promise<EventRow[]> {
  const newest = db
    .selectFrom('events')
    .select(({ fn }) => fn.max('id').as('id'))
    .where('host', 'is not', null)
    .groupBy('host');
  return db.selectFrom('events').selectAll().where('id', 'in', newest).execute();
}
