import { readFile, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { withoutPassword } from '../../server/store/postgres.ts';
import { openExistingStore, openStore, sqliteFile } from '../../server/store/store.ts';
import { tempFolder } from '../support/temp.ts';

it('refuses a file that is no database, and leaves it as it was', async () => {
  const dataDir = await tempFolder();
  await writeFile(sqliteFile(dataDir), 'this is not a database, it is a letter to a friend\n'.repeat(100));
  const before = await readFile(sqliteFile(dataDir));
  await expect(openStore({ dataDir })).rejects.toMatchObject({ code: 'RH_STORE_CORRUPT', exitCode: 4 });
  expect(await readFile(sqliteFile(dataDir))).toEqual(before);
});

it('notices damaged pages in the middle of a database', async () => {
  const dataDir = await tempFolder();
  const store = await openStore({ dataDir });
  await store.db
    .insertInto('events')
    .values(
      Array.from({ length: 2000 }, (_, i) => ({
        at: i,
        kind: 'x',
        host: `h${i}`,
        attempt: null,
        data: '{}',
      })),
    )
    .execute();
  await store.close();
  const bytes = await readFile(sqliteFile(dataDir));
  bytes.fill(0xff, 8192, 40_000);
  await writeFile(sqliteFile(dataDir), bytes);
  await expect(openStore({ dataDir })).rejects.toMatchObject({ code: 'RH_STORE_CORRUPT' });
});

it('opens an existing store only when there is one', async () => {
  await expect(openExistingStore({ dataDir: await tempFolder() })).rejects.toMatchObject({
    code: 'RH_DATA_UNUSABLE',
  });
});

it('says which PostgreSQL it could not reach, without its password', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const databaseUrl = `postgres://me:hunter2@127.0.0.1:${port}/railhead`;
  const error = await openStore({ dataDir: await tempFolder(), databaseUrl }).catch((thrown) => thrown);
  expect(error).toMatchObject({ code: 'RH_STORE_UNREACHABLE', exitCode: 4 });
  expect(error.message).toContain(`127.0.0.1:${port}`);
  expect(`${error.message}${error.hint}`).not.toContain('hunter2');
});

it('never shows the password of a URL', () => {
  expect(withoutPassword('postgres://me:s3cret@db/railhead')).toBe('postgres://me:***@db/railhead');
  expect(withoutPassword('not a url s3cret')).toBe('DATABASE_URL');
});
