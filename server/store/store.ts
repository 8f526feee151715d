import { join } from 'node:path';
import type { Kysely, Transaction } from 'kysely';
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

/** Opens the store and brings its schema up to date. */
export function openStore({ dataDir, databaseUrl }: StoreLocation): Promise<Store> {
  return databaseUrl === undefined ? openSqlite(sqliteFile(dataDir)) : openPostgres(databaseUrl);
}

export function sqliteFile(dataDir: string): string {
  return join(dataDir, 'railhead.db');
}
