import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { SCHEMA_VERSION, schemaVersion } from '../../server/store/migrate.ts';
import { openExistingStore, openStore } from '../../server/store/store.ts';
import { onEveryStore } from '../support/stores.ts';

onEveryStore('migrations', (kind) => {
  it('bring an empty database up to date, and leave it alone the second time', async () => {
    const location = await kind.location();
    for (const _ of [1, 2]) {
      const store = await openStore(location);
      expect(await schemaVersion(store.db, store.dialect)).toBe(SCHEMA_VERSION);
      await store.close();
    }
  });

  it('refuse a database that a newer Railhead has changed, and change nothing in it', async () => {
    const location = await kind.location();
    const store = await openStore(location);
    await sql`insert into kysely_migration (name, timestamp) values ('9999-from-the-future', '2030-01-01')`.execute(
      store.db,
    );
    await store.close();
    await expect(openStore(location)).rejects.toMatchObject({
      code: 'RH_STORE_NEWER',
      message: expect.stringContaining('9999-from-the-future'),
    });
    await expect(openExistingStore(location)).rejects.toMatchObject({ code: 'RH_STORE_NEWER' });
  });
});
