import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Kysely, Transaction } from 'kysely';
import { RailheadError } from '../errors.ts';
import { migrate, SCHEMA_VERSION, schemaVersion } from './migrate.ts';
import type { Dialect } from './migrations/columns.ts';
import { openPostgres } from './postgres.ts';
import type { Database } from './schema.ts';
import { openSqlite } from './sqlite.ts';

export interface Store {
  readonly db: Kysely<Database>;
  readonly dialect: Dialect;
  /** For messages; never with a password. */
  readonly shownAs: string;
  close(): Promise<void>;
}

/** What the table families work on: the database itself, or a transaction on it. */
export type Db = Kysely<Database> | Transaction<Database>;

export interface StoreLocation {
  dataDir: string;
  databaseUrl?: string | undefined;
}

/** Opens the store, makes it if it isn't there, and brings its schema up to date. */
export async function openStore(location: StoreLocation): Promise<Store> {
  const store = await connectStore(location);
  return closingOnFailure(store, async () => migrate(store.db, store.dialect));
}

/** Opens a store that must be there already, for a look from beside a running server: changes nothing. */
export async function openExistingStore(location: StoreLocation): Promise<Store> {
  if (location.databaseUrl === undefined && !existsSync(sqliteFile(location.dataDir))) {
    throw new RailheadError(
      'RH_DATA_UNUSABLE',
      `There is no database in the data folder ${location.dataDir}.`,
      {
        hint: 'Say which folder with --data DIR; `npm start` makes one.',
      },
    );
  }
  const store = await connectStore(location);
  return closingOnFailure(store, async () => {
    const version = await schemaVersion(store.db, store.dialect);
    if (version === SCHEMA_VERSION) return;
    throw new RailheadError(
      'RH_STORE_NEWER',
      `The database has schema ${version}; this Railhead has ${SCHEMA_VERSION}.`,
      {
        hint: 'Start this version once, so that it brings the database up to date.',
      },
    );
  });
}

function connectStore({ dataDir, databaseUrl }: StoreLocation): Promise<Store> {
  return databaseUrl === undefined ? openSqlite(sqliteFile(dataDir)) : openPostgres(databaseUrl);
}

async function closingOnFailure(store: Store, work: () => Promise<void>): Promise<Store> {
  try {
    await work();
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

export function sqliteFile(dataDir: string): string {
  return join(dataDir, 'railhead.db');
}
