import type { Insertable } from 'kysely';
import type {
  BootstrapTokensTable,
  ClustersTable,
  InitClaimsTable,
  JoinsTable,
  NodesTable,
} from './schema.ts';
import type { Db } from './store.ts';

export type ClusterRow = ClustersTable;
export type InitClaimRow = InitClaimsTable;
export type JoinRow = Omit<JoinsTable, 'id'> & { id: number };
export type TokenRow = BootstrapTokensTable;
export type NodeRow = NodesTable;

export async function findCluster(db: Db, name: string): Promise<ClusterRow | undefined> {
  return db.selectFrom('clusters').selectAll().where('name', '=', name).executeTakeFirst();
}

export async function listClusters(db: Db): Promise<ClusterRow[]> {
  return db.selectFrom('clusters').selectAll().orderBy('name').execute();
}

/** The first one stays, whoever asks at the same time. */
export async function insertCluster(db: Db, row: ClusterRow): Promise<void> {
  await db
    .insertInto('clusters')
    .values(row)
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
}

export async function replaceSecrets(db: Db, row: ClusterRow): Promise<void> {
  const { name, ...changes } = row;
  await db
    .insertInto('clusters')
    .values(row)
    .onConflict((conflict) => conflict.column('name').doUpdateSet(changes))
    .execute();
}

/** Whether this was the first time. */
export async function noteApiSeen(db: Db, name: string, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('clusters')
    .set({ api_seen_at: now })
    .where('name', '=', name)
    .where('api_seen_at', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function findInitClaim(db: Db, cluster: string): Promise<InitClaimRow | undefined> {
  return db.selectFrom('init_claims').selectAll().where('cluster', '=', cluster).executeTakeFirst();
}

export async function listInitClaims(db: Db): Promise<InitClaimRow[]> {
  return db.selectFrom('init_claims').selectAll().execute();
}

/** The primary key lets one claim through; the claim that is there is the answer. */
export async function claimInit(db: Db, claim: InitClaimRow): Promise<InitClaimRow> {
  await db
    .insertInto('init_claims')
    .values(claim)
    .onConflict((conflict) => conflict.column('cluster').doNothing())
    .execute();
  return (await findInitClaim(db, claim.cluster))!;
}

export async function countInitAnswer(db: Db, cluster: string, answers: number): Promise<void> {
  await db.updateTable('init_claims').set({ answers }).where('cluster', '=', cluster).execute();
}

export async function endInit(db: Db, host: string, now: number): Promise<void> {
  await db
    .updateTable('init_claims')
    .set({ done_at: now })
    .where('host', '=', host)
    .where('done_at', 'is', null)
    .execute();
}

/** Joins that are under way, those whose time is over among them. */
export async function openJoins(db: Db, cluster: string): Promise<JoinRow[]> {
  return db
    .selectFrom('joins')
    .selectAll()
    .where('cluster', '=', cluster)
    .where('ended_at', 'is', null)
    .execute();
}

export async function insertJoin(db: Db, join: Insertable<JoinsTable>): Promise<void> {
  await db.insertInto('joins').values(join).execute();
}

export async function updateJoin(db: Db, id: number, changes: Partial<Omit<JoinRow, 'id'>>): Promise<void> {
  await db.updateTable('joins').set(changes).where('id', '=', id).execute();
}

export async function endJoins(db: Db, host: string, outcome: string, now: number): Promise<void> {
  await db
    .updateTable('joins')
    .set({ ended_at: now, outcome })
    .where('host', '=', host)
    .where('ended_at', 'is', null)
    .execute();
}

/** Tokens that the API may know, or is to know. */
export async function tokensOf(db: Db, cluster: string): Promise<TokenRow[]> {
  return db.selectFrom('bootstrap_tokens').selectAll().where('cluster', '=', cluster).orderBy('id').execute();
}

export async function insertToken(db: Db, row: TokenRow): Promise<void> {
  await db.insertInto('bootstrap_tokens').values(row).execute();
}

export async function markTokensUsed(db: Db, host: string, now: number): Promise<void> {
  await db
    .updateTable('bootstrap_tokens')
    .set({ used_at: now })
    .where('host', '=', host)
    .where('used_at', 'is', null)
    .execute();
}

export async function retireTokens(db: Db, cluster: string, now: number): Promise<void> {
  await db
    .updateTable('bootstrap_tokens')
    .set({ used_at: now })
    .where('cluster', '=', cluster)
    .where('used_at', 'is', null)
    .execute();
}

/** The API has it no more: nor have we. */
export async function removeToken(db: Db, id: string): Promise<void> {
  await db.deleteFrom('bootstrap_tokens').where('id', '=', id).execute();
}

export async function nodesOf(db: Db, cluster: string): Promise<NodeRow[]> {
  return db.selectFrom('nodes').selectAll().where('cluster', '=', cluster).orderBy('name').execute();
}

export async function saveNode(db: Db, row: NodeRow): Promise<void> {
  const { id, ...changes } = row;
  await db
    .insertInto('nodes')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(changes))
    .execute();
}

export async function deleteNode(db: Db, id: string): Promise<void> {
  await db.deleteFrom('nodes').where('id', '=', id).execute();
}

/** As if nobody had ever begun: who asks next, begins. Secrets stay. */
export async function forgetInit(db: Db, cluster: string, now: number): Promise<void> {
  await db.deleteFrom('init_claims').where('cluster', '=', cluster).execute();
  await db.deleteFrom('bootstrap_tokens').where('cluster', '=', cluster).execute();
  await db.deleteFrom('nodes').where('cluster', '=', cluster).execute();
  await db
    .updateTable('joins')
    .set({ ended_at: now, outcome: 'begun anew' })
    .where('cluster', '=', cluster)
    .where('ended_at', 'is', null)
    .execute();
  await db.updateTable('clusters').set({ api_seen_at: null }).where('name', '=', cluster).execute();
}
