import type { Migration } from 'kysely/migration';
import type { ColumnTypes } from './columns.ts';

export const contents = (_types: ColumnTypes): Migration => ({
  async up(db) {
    // Files by what is in them. A row means: it was verified, and its bytes were on disk before the row was.
    await db.schema
      .createTable('contents')
      .addColumn('sha256', 'text', (column) => column.primaryKey())
      .addColumn('size', 'bigint', (column) => column.notNull())
      .addColumn('added_at', 'bigint', (column) => column.notNull())
      .addColumn('verified_how', 'text', (column) => column.notNull())
      .execute();

    // Where they are found below the assets folder; several names may share one content.
    await db.schema
      .createTable('content_names')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('sha256', 'text', (column) => column.notNull())
      .addColumn('size', 'bigint', (column) => column.notNull())
      .addColumn('origin', 'text', (column) => column.notNull())
      .addColumn('added_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('content_names_by_sha256').on('content_names').column('sha256').execute();
  },
});
