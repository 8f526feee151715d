import { type Kysely, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import { RailheadError } from '../errors.ts';
import { foundation } from './migrations/0001-foundation.ts';
import { boot } from './migrations/0002-boot.ts';
import { stages } from './migrations/0003-stages.ts';
import { provisioning } from './migrations/0004-provisioning.ts';
import { contents } from './migrations/0005-contents.ts';
import { clusters } from './migrations/0006-clusters.ts';
import { pipeline } from './migrations/0007-pipeline.ts';
import { machines } from './migrations/0008-machines.ts';
import { COLUMN_TYPES, type Dialect } from './migrations/columns.ts';
import type { Database } from './schema.ts';

/** Every migration there is, in order. A migration that has been released is never edited: add the next one. */
const MIGRATIONS = {
  '0001-foundation': foundation,
  '0002-boot': boot,
  '0003-stages': stages,
  '0004-provisioning': provisioning,
  '0005-contents': contents,
  '0006-clusters': clusters,
  '0007-pipeline': pipeline,
  '0008-machines': machines,
} as const;

const NAMES = Object.keys(MIGRATIONS);

/** The number of the newest migration: the version of the schema. */
export const SCHEMA_VERSION = NAMES.length;

/** Brings the database up to date, or to an older version; refuses one that a newer Railhead has changed. */
export async function migrate(
  db: Kysely<Database>,
  dialect: Dialect,
  version = SCHEMA_VERSION,
): Promise<void> {
  await schemaVersion(db, dialect);
  const migrations: Record<string, Migration> = Object.fromEntries(
    Object.entries(MIGRATIONS).map(([name, make]) => [name, make(COLUMN_TYPES[dialect])]),
  );
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const { error } = await migrator.migrateTo(NAMES[version - 1]!);
  if (error !== undefined) throw error;
}

/** How many migrations the database has; 0 for an empty one. */
export async function schemaVersion(db: Kysely<Database>, dialect: Dialect): Promise<number> {
  const applied = await appliedMigrations(db, dialect);
  const unknown = applied.filter((name) => !Object.hasOwn(MIGRATIONS, name));
  if (unknown.length > 0) {
    throw new RailheadError(
      'RH_STORE_NEWER',
      `The database was changed by a newer Railhead: it has ${unknown.join(', ')}; this one knows up to ${NAMES.at(-1)}.`,
      { hint: 'Start the newer version, or restore a backup that this version made.' },
    );
  }
  return applied.length;
}

async function appliedMigrations(db: Kysely<Database>, dialect: Dialect): Promise<string[]> {
  const table = 'kysely_migration';
  const exists =
    dialect === 'sqlite'
      ? await sql`select 1 from sqlite_master where name = ${table}`.execute(db)
      : await sql`select 1 where to_regclass(${table}) is not null`.execute(db);
  if (exists.rows.length === 0) return [];
  const { rows } = await sql<{ name: string }>`select name from ${sql.table(table)} order by name`.execute(
    db,
  );
  return rows.map((row) => row.name);
}
