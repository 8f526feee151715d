import type { FirstBootsTable } from './schema.ts';
import type { Db } from './store.ts';

export type FirstBootRow = FirstBootsTable;

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
