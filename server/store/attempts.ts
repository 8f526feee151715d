import type { AttemptsTable } from './schema.ts';
import type { Db } from './store.ts';

export type AttemptRow = AttemptsTable;

export async function findAttempt(db: Db, token: string): Promise<AttemptRow | undefined> {
  return db.selectFrom('attempts').selectAll().where('token', '=', token).executeTakeFirst();
}

/** Those of a host that are not closed: open ones, and ones that are only offered. */
export async function liveAttempts(db: Db, host: string): Promise<AttemptRow[]> {
  return db
    .selectFrom('attempts')
    .selectAll()
    .where('host', '=', host)
    .where('closed_at', 'is', null)
    .orderBy('created_at')
    .execute();
}

/** Those of all hosts that are not closed, also the ones that are only offered. */
export async function allLiveAttempts(db: Db): Promise<AttemptRow[]> {
  return db.selectFrom('attempts').selectAll().where('closed_at', 'is', null).execute();
}

/** Open attempts of all hosts. */
export async function openAttempts(db: Db): Promise<AttemptRow[]> {
  return db
    .selectFrom('attempts')
    .selectAll()
    .where('closed_at', 'is', null)
    .where('opened_at', 'is not', null)
    .execute();
}

export async function insertAttempt(db: Db, attempt: AttemptRow): Promise<void> {
  await db.insertInto('attempts').values(attempt).execute();
}

export async function updateAttempt(
  db: Db,
  token: string,
  changes: Partial<Omit<AttemptRow, 'token' | 'host'>>,
): Promise<void> {
  await db.updateTable('attempts').set(changes).where('token', '=', token).execute();
}

/** Drops a host's attempts that are closed, all but the newest few. */
export async function pruneAttempts(db: Db, host: string, keep = 20): Promise<void> {
  const kept = db
    .selectFrom('attempts')
    .select('token')
    .where('host', '=', host)
    .orderBy('created_at', 'desc')
    .limit(keep);
  await db
    .deleteFrom('attempts')
    .where('host', '=', host)
    .where('closed_at', 'is not', null)
    .where('token', 'not in', kept)
    .execute();
}
