import type { Insertable, Selectable } from 'kysely';
import type { CandidatesTable, MachinesTable, WindowsTable } from './schema.ts';
import type { Db } from './store.ts';

export type MachineRow = Selectable<MachinesTable>;
export type WindowRow = Selectable<WindowsTable>;
export type CandidateRow = CandidatesTable;

/** The identity that a host has now. */
export async function liveMachine(db: Db, host: string): Promise<MachineRow | undefined> {
  return db
    .selectFrom('machines')
    .selectAll()
    .where('host', '=', host)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
}

export async function liveMachines(db: Db): Promise<MachineRow[]> {
  return db.selectFrom('machines').selectAll().where('revoked_at', 'is', null).execute();
}

export async function findMachineByToken(db: Db, token: string): Promise<MachineRow | undefined> {
  return db
    .selectFrom('machines')
    .selectAll()
    .where('token', '=', token)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
}

/** Whose secret this is, or was; the live one first. */
export async function findMachineBySecret(db: Db, secret: string): Promise<MachineRow | undefined> {
  const found = await db
    .selectFrom('machines')
    .selectAll()
    .where('secret', '=', secret)
    .orderBy('id', 'desc')
    .execute();
  return found.find(({ revoked_at: revokedAt }) => revokedAt === null) ?? found[0];
}

/** The highest generation that a host has ever had; 0 for none. */
export async function lastGeneration(db: Db, host: string): Promise<number> {
  const { generation } = await db
    .selectFrom('machines')
    .select(({ fn }) => fn.max('generation').as('generation'))
    .where('host', '=', host)
    .executeTakeFirstOrThrow();
  return Number(generation ?? 0);
}

export async function insertMachine(db: Db, machine: Insertable<MachinesTable>): Promise<number> {
  const { id } = await db.insertInto('machines').values(machine).returning('id').executeTakeFirstOrThrow();
  return Number(id);
}

export async function updateMachine(
  db: Db,
  id: number,
  changes: Partial<Omit<MachineRow, 'id' | 'host'>>,
): Promise<void> {
  await db.updateTable('machines').set(changes).where('id', '=', id).execute();
}

export async function revokeMachine(db: Db, host: string, now: number): Promise<void> {
  await db
    .updateTable('machines')
    .set({ revoked_at: now })
    .where('host', '=', host)
    .where('revoked_at', 'is', null)
    .execute();
}

export async function openWindow(db: Db, host: string): Promise<WindowRow | undefined> {
  return db
    .selectFrom('windows')
    .selectAll()
    .where('host', '=', host)
    .where('closed_at', 'is', null)
    .executeTakeFirst();
}

export async function insertWindow(db: Db, window: Insertable<WindowsTable>): Promise<void> {
  await db.insertInto('windows').values(window).execute();
}

export async function updateWindow(
  db: Db,
  id: number,
  changes: Partial<Omit<WindowRow, 'id' | 'host'>>,
): Promise<void> {
  await db.updateTable('windows').set(changes).where('id', '=', id).execute();
}

/** Those of a host that an operator has not decided about. */
export async function candidatesOf(db: Db, host: string): Promise<CandidateRow[]> {
  return db
    .selectFrom('candidates')
    .selectAll()
    .where('host', '=', host)
    .where('dismissed_at', 'is', null)
    .orderBy('first_seen')
    .execute();
}

export async function allCandidates(db: Db): Promise<CandidateRow[]> {
  return db
    .selectFrom('candidates')
    .selectAll()
    .where('dismissed_at', 'is', null)
    .orderBy('first_seen')
    .execute();
}

export async function findCandidate(db: Db, id: string): Promise<CandidateRow | undefined> {
  return db.selectFrom('candidates').selectAll().where('id', '=', id).executeTakeFirst();
}

export async function saveCandidate(db: Db, candidate: CandidateRow): Promise<void> {
  const { id: _id, first_seen: _first, dismissed_at: _dismissed, ...news } = candidate;
  await db
    .insertInto('candidates')
    .values(candidate)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(news))
    .execute();
}

export async function removeCandidates(db: Db, ids: readonly string[]): Promise<void> {
  if (ids.length > 0)
    await db
      .deleteFrom('candidates')
      .where('id', 'in', [...ids])
      .execute();
}

export async function dismissCandidates(db: Db, host: string, now: number): Promise<void> {
  await db
    .updateTable('candidates')
    .set({ dismissed_at: now })
    .where('host', '=', host)
    .where('dismissed_at', 'is', null)
    .execute();
}
