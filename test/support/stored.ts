import type { Event } from '../../server/events/kinds.ts';
import type { Inventory } from '../../server/inventory/model.ts';
import { openRevision } from '../../server/inventory/revision.ts';
import { listEvents } from '../../server/store/events.ts';
import { revisionInForce } from '../../server/store/revisions.ts';
import { openExistingStore } from '../../server/store/store.ts';
import type { Site } from './appliance.ts';

export interface Stored {
  events: Event[];
  revision: { hash: string; inventory: Inventory } | undefined;
}

/** What is in the store of an appliance that does not run. */
export async function stored(site: Pick<Site, 'data'>, databaseUrl?: string): Promise<Stored> {
  const store = await openExistingStore({ dataDir: site.data, databaseUrl });
  try {
    const rows = await listEvents(store.db, { after: 0, limit: 100_000 });
    const events = rows.map((row) => ({ ...row, data: JSON.parse(row.data) }) as unknown as Event);
    const found = await revisionInForce(store.db);
    const revision = found && { hash: found.hash, inventory: openRevision(found.document) };
    return { events, revision };
  } finally {
    await store.close();
  }
}

export async function storedEvents(site: Pick<Site, 'data'>): Promise<Event[]> {
  return (await stored(site)).events;
}
