import type { ContentNamesTable, ContentsTable } from './schema.ts';
import type { Db } from './store.ts';

export type ContentRow = ContentsTable;
export type ContentNameRow = ContentNamesTable;

/** A name with how its content was verified. */
export type NamedContentRow = ContentNameRow & Pick<ContentRow, 'verified_how'>;

export async function findContent(db: Db, sha256: string): Promise<ContentRow | undefined> {
  return db.selectFrom('contents').selectAll().where('sha256', '=', sha256).executeTakeFirst();
}

export async function listContents(db: Db): Promise<ContentRow[]> {
  return db.selectFrom('contents').selectAll().orderBy('sha256').execute();
}

/** The same bytes under a stronger check take that one's word for them. */
export async function recordContent(db: Db, row: ContentRow): Promise<void> {
  const { sha256: _key, added_at: _first, ...news } = row;
  await db
    .insertInto('contents')
    .values(row)
    .onConflict((conflict) => conflict.column('sha256').doUpdateSet(news))
    .execute();
}

export async function forgetContent(db: Db, sha256: string): Promise<void> {
  await db.deleteFrom('contents').where('sha256', '=', sha256).execute();
}

export async function recordName(db: Db, row: ContentNameRow): Promise<void> {
  const { name: _key, ...news } = row;
  await db
    .insertInto('content_names')
    .values(row)
    .onConflict((conflict) => conflict.column('name').doUpdateSet(news))
    .execute();
}

export async function findName(db: Db, name: string): Promise<ContentNameRow | undefined> {
  return db.selectFrom('content_names').selectAll().where('name', '=', name).executeTakeFirst();
}

/** Names that begin with the prefix, in order. */
export async function listNames(db: Db, prefix = ''): Promise<NamedContentRow[]> {
  const rows = await db
    .selectFrom('content_names')
    .innerJoin('contents', 'contents.sha256', 'content_names.sha256')
    .selectAll('content_names')
    .select('contents.verified_how')
    .orderBy('content_names.name')
    .execute();
  // Not by LIKE, whose wildcards and case differ between the databases; there are hundreds of names, not millions.
  return rows.filter(({ name }) => name.startsWith(prefix));
}

export async function forgetName(db: Db, name: string): Promise<void> {
  await db.deleteFrom('content_names').where('name', '=', name).execute();
}

export async function isNamed(db: Db, sha256: string): Promise<boolean> {
  const row = await db
    .selectFrom('content_names')
    .select('name')
    .where('sha256', '=', sha256)
    .executeTakeFirst();
  return row !== undefined;
}
