import { sql } from 'kysely';
import type { Database } from './schema.ts';
import type { Db, Store } from './store.ts';

/** Every table with its primary key, in the order in which a backup writes and restores them. */
const KEYS = {
  meta: 'key',
  revisions: 'id',
  events: 'id',
  admin_tokens: 'name',
  hosts: 'name',
  attempts: 'token',
  sightings: 'mac',
  contents: 'sha256',
  content_names: 'name',
  frozen_configs: 'attempt',
  first_boots: 'token',
  machines: 'id',
  windows: 'id',
  candidates: 'id',
  clusters: 'name',
  init_claims: 'cluster',
  joins: 'id',
  bootstrap_tokens: 'id',
  nodes: 'id',
  pipeline_clusters: 'cluster',
  pipeline_steps: 'key',
  pipeline_runs: 'run',
  pipeline_logs: 'id',
} as const satisfies Record<keyof Database, string>;

export type TableName = keyof typeof KEYS;
export const TABLES = Object.keys(KEYS) as TableName[];

export type Row = Record<string, unknown>;

const ROWS_A_PAGE = 1000;

/** All rows of all tables as they were at one moment, whoever writes meanwhile. */
export async function* allRows(store: Store): AsyncGenerator<{ table: TableName; row: Row }> {
  const begin = store.db.startTransaction();
  // SQLite's transactions see one snapshot anyway; PostgreSQL's only when asked.
  const snapshot = await (store.dialect === 'postgres'
    ? begin.setIsolationLevel('repeatable read')
    : begin
  ).execute();
  try {
    for (const table of TABLES) {
      let page: Row[] = [];
      do {
        page = await pageOf(snapshot, table, page.at(-1)?.[KEYS[table]]);
        for (const row of page) yield { table, row };
      } while (page.length === ROWS_A_PAGE);
    }
  } finally {
    await snapshot.rollback().execute();
  }
}

async function pageOf(db: Db, table: TableName, after: unknown): Promise<Row[]> {
  const key = sql.ref(KEYS[table]);
  const where = after === undefined ? sql`` : sql`where ${key} > ${after}`;
  const page = sql<Row>`select * from ${sql.table(table)} ${where} order by ${key} limit ${ROWS_A_PAGE}`;
  return (await page.execute(db)).rows;
}

export async function insertRows(db: Db, table: TableName, rows: readonly Row[]): Promise<void> {
  if (rows.length > 0)
    await db
      .insertInto(table)
      .values(rows as never)
      .execute();
}

export async function emptyTables(db: Db): Promise<void> {
  for (const table of TABLES) await db.deleteFrom(table).execute();
}

export async function isEmpty(db: Db): Promise<boolean> {
  for (const table of TABLES) {
    const { rows } = await sql`select 1 from ${sql.table(table)} limit 1`.execute(db);
    if (rows.length > 0) return false;
  }
  return true;
}

/** Those whose ids the database counts. */
const COUNTED = [
  'revisions',
  'events',
  'machines',
  'windows',
  'joins',
  'pipeline_logs',
] as const satisfies TableName[];

/** After rows were inserted with their ids, PostgreSQL has to be told where to go on counting. */
export async function continueIds(store: Store, db: Db): Promise<void> {
  if (store.dialect === 'sqlite') return;
  for (const table of COUNTED) {
    await sql`select setval(pg_get_serial_sequence(${table}, 'id'), (select coalesce(max(id), 0) + 1 from ${sql.table(table)}), false)`.execute(
      db,
    );
  }
}
