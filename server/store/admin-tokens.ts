import type { Db } from './store.ts';

/** Hashes of the tokens that may change things; the tokens themselves are never stored here. */
export async function saveAdminToken(
  db: Db,
  token: { name: string; hash: string; createdAt: number },
): Promise<void> {
  await db
    .insertInto('admin_tokens')
    .values({ name: token.name, hash: token.hash, created_at: token.createdAt })
    .onConflict((conflict) =>
      conflict.column('name').doUpdateSet({ hash: token.hash, created_at: token.createdAt }),
    )
    .execute();
}

export async function adminTokenHashes(db: Db): Promise<string[]> {
  const rows = await db.selectFrom('admin_tokens').select('hash').execute();
  return rows.map((row) => row.hash);
}
