import { getMeta, setMeta } from './meta.ts';
import type { Db } from './store.ts';

export interface StoredRevision {
  hash: string;
  createdAt: number;
  /** gzipped JSON */
  document: Buffer;
}

const IN_FORCE = 'inventory.revision';

/** Keeps the revision and puts it in force; run it in a transaction. Old ones beyond `keep` are dropped. */
export async function putInForce(db: Db, revision: StoredRevision, keep = 20): Promise<void> {
  await db
    .insertInto('revisions')
    .values({ hash: revision.hash, created_at: revision.createdAt, document: revision.document })
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .execute();
  await setMeta(db, IN_FORCE, revision.hash);
  const kept = db.selectFrom('revisions').select('id').orderBy('id', 'desc').limit(keep);
  await db.deleteFrom('revisions').where('id', 'not in', kept).where('hash', '!=', revision.hash).execute();
}

export async function revisionInForce(db: Db): Promise<StoredRevision | undefined> {
  const hash = await getMeta(db, IN_FORCE);
  return hash === undefined ? undefined : findRevision(db, hash);
}

/** By its hash or the beginning of it, as people type it. */
export async function findRevision(db: Db, prefix: string): Promise<StoredRevision | undefined> {
  if (!/^[0-9a-f]{4,64}$/.test(prefix)) return undefined;
  const rows = await db
    .selectFrom('revisions')
    .selectAll()
    .where('hash', 'like', `${prefix}%`)
    .limit(2)
    .execute();
  const row = rows[0];
  if (row === undefined || rows.length > 1) return undefined;
  return { hash: row.hash, createdAt: row.created_at, document: row.document };
}

export async function listRevisions(db: Db): Promise<{ hash: string; createdAt: number }[]> {
  const rows = await db
    .selectFrom('revisions')
    .select(['hash', 'created_at'])
    .orderBy('id', 'desc')
    .execute();
  return rows.map((row) => ({ hash: row.hash, createdAt: row.created_at }));
}
