import type { HostsTable } from './schema.ts';
import type { Db } from './store.ts';

export type HostRow = HostsTable;

export async function findHostRow(db: Db, name: string): Promise<HostRow | undefined> {
  return db.selectFrom('hosts').selectAll().where('name', '=', name).executeTakeFirst();
}

export async function listHostRows(db: Db): Promise<HostRow[]> {
  return db.selectFrom('hosts').selectAll().execute();
}

/** Changes some columns of a host; makes its row if it was never seen. */
export async function updateHostRow(
  db: Db,
  name: string,
  changes: Partial<Omit<HostRow, 'name'>>,
  initial: { state: string; now: number },
): Promise<void> {
  const fresh: HostRow = {
    name,
    state: initial.state,
    state_since: initial.now,
    last_seen: null,
    installed_at: null,
    reinstall_at: null,
    hold_reason: null,
    hold_since: null,
    ever_ready: 0,
    joined_at: null,
    failures: 0,
  };
  await db
    .insertInto('hosts')
    .values({ ...fresh, ...changes })
    .onConflict((conflict) =>
      Object.keys(changes).length === 0 ? conflict.doNothing() : conflict.column('name').doUpdateSet(changes),
    )
    .execute();
}
