import type { FrozenConfigsTable } from './schema.ts';
import type { Db } from './store.ts';

export type FrozenConfigRow = FrozenConfigsTable;

export async function findFrozenConfig(db: Db, attempt: string): Promise<FrozenConfigRow | undefined> {
  return db.selectFrom('frozen_configs').selectAll().where('attempt', '=', attempt).executeTakeFirst();
}

/** The first one stays: what was promised by its hash can't be replaced. */
export async function insertFrozenConfig(db: Db, row: FrozenConfigRow): Promise<void> {
  await db
    .insertInto('frozen_configs')
    .values(row)
    .onConflict((conflict) => conflict.column('attempt').doNothing())
    .execute();
}

/** Those of attempts that are over, or gone. */
export async function pruneFrozenConfigs(db: Db, host: string): Promise<void> {
  const live = db.selectFrom('attempts').select('token').where('closed_at', 'is', null);
  await db.deleteFrom('frozen_configs').where('host', '=', host).where('attempt', 'not in', live).execute();
}
