import { chmodSync, existsSync } from 'node:fs';
import SQLite from 'better-sqlite3';
import { type Driver, Kysely, SqliteDialect } from 'kysely';
import { RailheadError, systemCode } from '../errors.ts';
import type { Database } from './schema.ts';
import type { Store } from './store.ts';

/** Above this a look through all pages at every start would be felt; `railhead doctor` still does it. */
const QUICK_CHECK_MAX_BYTES = 128 * 1024 * 1024;

export async function openSqlite(file: string): Promise<Store> {
  const db = new Kysely<Database>({ dialect: new RollbackOnceDialect(openFile(file)) });
  return { db, dialect: 'sqlite', shownAs: file, close: () => db.destroy() };
}

/**
 * After some failures, a full disk among them, SQLite has rolled back by itself. Kysely's rollback then fails, and
 * that failure would hide the real one.
 */
class RollbackOnceDialect extends SqliteDialect {
  readonly #database: SQLite.Database;

  constructor(database: SQLite.Database) {
    super({ database: withStatementCache(database) });
    this.#database = database;
  }

  override createDriver(): Driver {
    const driver = super.createDriver();
    const rollback = driver.rollbackTransaction.bind(driver);
    driver.rollbackTransaction = async (connection) => {
      if (this.#database.inTransaction) await rollback(connection);
    };
    return driver;
  }
}

/** How many different statements there are, and some more; those with lists of values of any length come and go. */
const MAX_STATEMENTS = 500;

/** Kysely prepares every statement anew, which costs more than to run it. */
function withStatementCache(
  database: SQLite.Database,
): ConstructorParameters<typeof SqliteDialect>[0]['database'] {
  const statements = new Map<string, SQLite.Statement>();
  return {
    close: () => database.close(),
    prepare: (sql: string) => {
      const known = statements.get(sql);
      if (known !== undefined) return known as never;
      const statement = database.prepare(sql);
      statements.set(sql, statement);
      if (statements.size > MAX_STATEMENTS) statements.delete(statements.keys().next().value!);
      return statement as never;
    },
  };
}

function openFile(file: string): SQLite.Database {
  const isNew = !existsSync(file);
  let database: SQLite.Database | undefined;
  try {
    database = new SQLite(file);
    database.pragma('busy_timeout = 5000');
    database.pragma('journal_mode = WAL');
    // FULL: what was acknowledged survives a power cut, not only kill -9.
    database.pragma('synchronous = FULL');
    database.pragma('foreign_keys = ON');
    if (isNew) chmodSync(file, 0o600);
    const bytes = Number(database.pragma('page_count', { simple: true })) * 4096;
    if (bytes < QUICK_CHECK_MAX_BYTES) assertSound(database);
    return database;
  } catch (error) {
    database?.close();
    throw explain(error, file);
  }
}

/** Throws when pages of the file are damaged, which SQLite itself would only notice when it reads them. */
export function assertSound(database: SQLite.Database): void {
  const verdict = database.pragma('quick_check(1)', { simple: true });
  if (verdict !== 'ok') {
    throw Object.assign(new Error(String(verdict)), { code: 'SQLITE_CORRUPT' });
  }
}

function explain(error: unknown, file: string): unknown {
  const code = systemCode(error) ?? '';
  if (code === 'SQLITE_NOTADB' || code.startsWith('SQLITE_CORRUPT')) {
    return new RailheadError('RH_STORE_CORRUPT', `The database ${file} is damaged. It was left as it is.`, {
      hint: 'Run `npx railhead restore BACKUP --replace`; the damaged file is kept beside the restored one.',
      cause: error,
    });
  }
  if (/^SQLITE_(CANTOPEN|READONLY|PERM)/.test(code)) {
    return new RailheadError('RH_DATA_UNUSABLE', `The database ${file} can't be opened for writing.`, {
      hint: 'Mend the rights of the data folder, or choose another with --data DIR.',
      cause: error,
    });
  }
  return error;
}
