import type { SightingsTable } from './schema.ts';
import type { Db } from './store.ts';

export type SightingRow = SightingsTable;

/** Beyond this many strangers the one that was not seen for longest is forgotten: random MACs must not fill a disk. */
const MAX_SIGHTINGS = 2000;

export async function recordSighting(db: Db, sighting: SightingRow): Promise<void> {
  const { first_seen: _first, ...news } = sighting;
  await db
    .insertInto('sightings')
    .values(sighting)
    .onConflict((conflict) => conflict.column('mac').doUpdateSet(news))
    .execute();
  const kept = db.selectFrom('sightings').select('mac').orderBy('last_seen', 'desc').limit(MAX_SIGHTINGS);
  await db.deleteFrom('sightings').where('mac', 'not in', kept).execute();
}

export async function listSightings(db: Db): Promise<SightingRow[]> {
  return db.selectFrom('sightings').selectAll().orderBy('last_seen', 'desc').execute();
}

export async function forgetSighting(db: Db, mac: string): Promise<void> {
  await db.deleteFrom('sightings').where('mac', '=', mac).execute();
}
