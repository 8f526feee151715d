import type { AgentsTable, FirstBootsTable } from './schema.ts';
import type { Db } from './store.ts';

export type AgentRow = AgentsTable;
export type FirstBootRow = FirstBootsTable;

export async function findAgent(db: Db, token: string): Promise<AgentRow | undefined> {
  return db.selectFrom('agents').selectAll().where('token', '=', token).executeTakeFirst();
}

/** The machine that has registered with this credential, if one has. */
export async function findAgentByCredential(db: Db, credential: string): Promise<AgentRow | undefined> {
  return db.selectFrom('agents').selectAll().where('credential', '=', credential).executeTakeFirst();
}

export async function insertAgent(db: Db, agent: AgentRow): Promise<void> {
  await db.insertInto('agents').values(agent).execute();
}

/** The one that may still speak for a host: registering anew revokes those before. */
export async function liveAgent(db: Db, host: string): Promise<AgentRow | undefined> {
  return db
    .selectFrom('agents')
    .selectAll()
    .where('host', '=', host)
    .where('revoked_at', 'is', null)
    .orderBy('registered_at', 'desc')
    .executeTakeFirst();
}

export async function touchAgent(db: Db, token: string, now: number): Promise<void> {
  await db.updateTable('agents').set({ last_seen: now }).where('token', '=', token).execute();
}

export async function revokeAgents(db: Db, host: string, now: number): Promise<void> {
  await db
    .updateTable('agents')
    .set({ revoked_at: now })
    .where('host', '=', host)
    .where('revoked_at', 'is', null)
    .execute();
}

export async function findFirstBoot(db: Db, token: string): Promise<FirstBootRow | undefined> {
  return db.selectFrom('first_boots').selectAll().where('token', '=', token).executeTakeFirst();
}

export async function insertFirstBoot(db: Db, row: FirstBootRow): Promise<void> {
  await db
    .insertInto('first_boots')
    .values(row)
    .onConflict((conflict) => conflict.column('token').doNothing())
    .execute();
}

export async function endFirstBoots(db: Db, host: string, now: number): Promise<void> {
  await db
    .updateTable('first_boots')
    .set({ ended_at: now })
    .where('host', '=', host)
    .where('ended_at', 'is', null)
    .execute();
}
