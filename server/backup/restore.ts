import { existsSync } from 'node:fs';
import { link, mkdir, readdir, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import SQLite from 'better-sqlite3';
import { sql } from 'kysely';
import type { DataFolder } from '../data-folder.ts';
import { RailheadError, systemCode } from '../errors.ts';
import { migrate, SCHEMA_VERSION, schemaVersion } from '../store/migrate.ts';
import { openPostgres } from '../store/postgres.ts';
import { openSqlite } from '../store/sqlite.ts';
import { type Db, type Store, sqliteFile } from '../store/store.ts';
import {
  continueIds,
  emptyTables,
  insertRows,
  isEmpty,
  type Row,
  TABLES,
  type TableName,
} from '../store/tables.ts';
import { type BackupHeader, readBackup, readHeader } from './format.ts';
import { decodeRow } from './make.ts';

export interface CheckedBackup {
  header: BackupHeader;
  rows: Record<string, number>;
  keys: string[];
}

const KEY_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** Reads a backup from end to end. Throws when anything in it is not as it was written. */
export async function checkBackup(path: string, passphrase: string | undefined): Promise<CheckedBackup> {
  const { header } = await readHeader(path);
  if (header.schema > SCHEMA_VERSION) {
    throw new RailheadError('RH_STORE_NEWER', `${path} was made by a newer Railhead (${header.version}).`, {
      hint: 'Restore it with that version or a later one.',
    });
  }
  const checked: CheckedBackup = { header, rows: {}, keys: [] };
  for await (const record of readBackup(path, passphrase)) {
    if ('table' in record) {
      if (!isTable(record.table)) throw unexpected(path, `the table "${record.table}"`);
      checked.rows[record.table] = (checked.rows[record.table] ?? 0) + 1;
    } else if ('file' in record) {
      // The name comes from a file that may be anybody's: it must not lead out of the keys folder.
      if (!KEY_NAME.test(record.file)) throw unexpected(path, `the file ${JSON.stringify(record.file)}`);
      checked.keys.push(record.file);
    }
  }
  return checked;
}

export interface RestoreOptions {
  path: string;
  passphrase: string | undefined;
  /** What `checkBackup` found in it. */
  backup: CheckedBackup;
  data: DataFolder;
  databaseUrl: string | undefined;
  /** Put what is there aside instead of refusing. */
  replace: boolean;
  /** Part of the names of what is put aside. */
  stamp: string;
}

/** Restores a backup that has been checked. The data folder must be locked. */
export async function restoreBackup(options: RestoreOptions): Promise<void> {
  // All that can fail comes first, beside what is there; what changes something is a few renames in the end.
  const newKeys = `${options.data.keys}.restoring`;
  try {
    const hasKeys = await stageKeys(newKeys, options);
    await (options.databaseUrl === undefined
      ? restoreSqlite(options)
      : restorePostgres(options, options.databaseUrl));
    if (hasKeys) await replaceKeys(newKeys, options);
  } finally {
    await rm(newKeys, { recursive: true, force: true });
  }
}

/** Into a new file beside the old one, which is then put in its place by one rename: never half a database. */
async function restoreSqlite(options: RestoreOptions): Promise<void> {
  const file = sqliteFile(options.data.dir);
  if (existsSync(file) && !options.replace) throw notEmpty(file);
  const unfinished = `${file}.restoring`;
  try {
    await removeSqlite(unfinished);
    const store = await openSqlite(unfinished);
    try {
      await fill(store, options);
    } finally {
      await store.close();
    }
    await putAside(file, options.stamp);
    await rename(unfinished, file);
  } finally {
    await removeSqlite(unfinished);
  }
}

async function restorePostgres(options: RestoreOptions, url: string): Promise<void> {
  const store = await openPostgres(url);
  try {
    await assertUnused(store);
    const version = await schemaVersion(store.db, store.dialect);
    const { header } = options.backup;
    if (version > 0) {
      if (!options.replace && !(await isEmpty(store.db))) throw notEmpty(store.shownAs);
      if (version !== header.schema) {
        throw new RailheadError(
          'RH_STORE_NOT_EMPTY',
          `The database has schema ${version}, the backup ${header.schema}.`,
          {
            hint: 'Restore into a new, empty database.',
          },
        );
      }
    }
    await fill(store, options);
  } finally {
    await store.close();
  }
}

/** The lock on the data folder says nothing about servers on other machines; the one that serves holds a lock here. */
async function assertUnused({ db, shownAs }: Store): Promise<void> {
  const { rows } = await sql`
    select 1 from pg_locks join pg_database on pg_database.oid = pg_locks.database
    where locktype = 'advisory' and granted and datname = current_database() and pid <> pg_backend_pid()`.execute(
    db,
  );
  if (rows.length === 0) return;
  throw new RailheadError('RH_DATA_IN_USE', `A Railhead is using the database ${shownAs}.`, {
    hint: 'Stop it first, or restore into another database.',
  });
}

/** First the schema that the rows were made for, then what has come since. */
async function fill(store: Store, options: RestoreOptions): Promise<void> {
  await migrate(store.db, store.dialect, options.backup.header.schema);
  await store.db.transaction().execute(async (trx) => {
    await emptyTables(trx);
    await insertAll(trx, options);
    await continueIds(store, trx);
  });
  await migrate(store.db, store.dialect);
}

const ROWS_A_STATEMENT = 500;

async function insertAll(db: Db, { path, passphrase, backup }: RestoreOptions): Promise<void> {
  let rows: Row[] = [];
  let table: TableName | undefined;
  const flush = async (): Promise<void> => {
    if (table !== undefined)
      await insertRows(db, table, rows).catch((error: unknown) => refuse(error, table));
    rows = [];
  };
  const refuse = (error: unknown, where: string | undefined): never => {
    if (!isAboutTheRows(error)) throw error;
    throw unexpected(path, `rows that the table ${where} does not take`);
  };
  for await (const record of readBackup(path, passphrase)) {
    if (!('table' in record)) continue;
    // A token's hash without the token would lock everybody out: the next start makes a new one.
    if (record.table === 'admin_tokens' && backup.keys.length === 0) continue;
    if (record.table !== table || rows.length === ROWS_A_STATEMENT) await flush();
    table = record.table as TableName;
    rows.push(decodeRow(record.row));
  }
  await flush();
}

/** Constraints and unknown columns: SQLite's codes, and PostgreSQL's classes for data, integrity and syntax. */
function isAboutTheRows(error: unknown): boolean {
  return /^(SQLITE_(CONSTRAINT|ERROR|MISMATCH|RANGE|TOOBIG)|(22|23|42)[0-9A-Z]{3}$)/.test(
    systemCode(error) ?? '',
  );
}

/** Writes the keys of the backup into a folder beside the real one; `false` when it has none. */
async function stageKeys(dir: string, { path, passphrase }: RestoreOptions): Promise<boolean> {
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { mode: 0o700 });
  let hasKeys = false;
  for await (const record of readBackup(path, passphrase)) {
    if (!('file' in record)) continue;
    hasKeys = true;
    const content = Buffer.from(record.base64, 'base64'); // bytes: a key need not be text
    await writeFile(join(dir, record.file), content, { mode: 0o600, flush: true });
  }
  return hasKeys;
}

async function replaceKeys(newKeys: string, { data, stamp }: RestoreOptions): Promise<void> {
  const isEmpty = (await readdir(data.keys)).length === 0;
  await (isEmpty ? rmdir(data.keys) : rename(data.keys, `${data.keys}.replaced-${stamp}`));
  await rename(newKeys, data.keys);
}

/**
 * Keeps the old database under another name. What its log still held is written into it first, if it can be.
 * A log whose database is gone is put aside, too: SQLite would take it for the new one's and ruin that.
 */
async function putAside(file: string, stamp: string): Promise<void> {
  const isThere = existsSync(file);
  try {
    const old = new SQLite(file, { fileMustExist: true });
    old.pragma('wal_checkpoint(TRUNCATE)');
    old.close();
  } catch {
    // Damaged: it is kept as it is, with its log beside it.
  }
  for (const suffix of ['-wal', '-shm']) {
    if (existsSync(file + suffix)) await rename(file + suffix, `${file}.replaced-${stamp}${suffix}`);
  }
  if (isThere) await link(file, `${file}.replaced-${stamp}`);
}

async function removeSqlite(file: string): Promise<void> {
  for (const suffix of ['', '-wal', '-shm']) await rm(file + suffix, { force: true });
}

function isTable(name: string): name is TableName {
  return (TABLES as string[]).includes(name);
}

function notEmpty(what: string): RailheadError {
  return new RailheadError(
    'RH_STORE_NOT_EMPTY',
    `There is a database already: ${what}. It was left as it is.`,
    {
      hint: 'Restore into an empty data folder (--data DIR), or add --replace to put the old one aside.',
    },
  );
}

function unexpected(path: string, what: string): RailheadError {
  return new RailheadError(
    'RH_BACKUP_INVALID',
    `The backup ${path} has something unexpected in it: ${what}.`,
  );
}
