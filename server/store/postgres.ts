import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { RailheadError } from '../errors.ts';
import type { Database } from './schema.ts';
import type { Store } from './store.ts';

const INT8 = 20;

export async function openPostgres(url: string): Promise<Store> {
  const pool = new pg.Pool({
    connectionString: url,
    max: 10,
    connectionTimeoutMillis: 10_000,
    application_name: 'railhead',
    types: { getTypeParser },
  });
  // Without a listener, a connection that breaks while idle would end the process; the next query says so instead.
  pool.on('error', () => {});
  const shownAs = withoutPassword(url);
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
  try {
    await connectOnce(pool, shownAs);
  } catch (error) {
    await db.destroy();
    throw error;
  }
  return { db, dialect: 'postgres', shownAs, close: () => db.destroy() };
}

/** Our 64-bit columns are ids and times: they fit a number, as they do in SQLite. */
const getTypeParser: typeof pg.types.getTypeParser = ((oid: number, format?: 'text' | 'binary') =>
  oid === INT8 ? Number : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser;

async function connectOnce(pool: pg.Pool, shownAs: string): Promise<void> {
  try {
    (await pool.connect()).release();
  } catch (error) {
    throw new RailheadError(
      'RH_STORE_UNREACHABLE',
      `Can't reach the database ${shownAs}: ${reasonOf(error)}`,
      {
        hint: 'Check DATABASE_URL, and that PostgreSQL is up and lets this machine in.',
        cause: error,
      },
    );
  }
}

/** A name with several addresses fails with one error for each of them, and an empty message. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}

export function withoutPassword(url: string): string {
  try {
    const parsed = new URL(url);
    if (parsed.password !== '') parsed.password = '***';
    return parsed.toString();
  } catch {
    return 'DATABASE_URL';
  }
}
