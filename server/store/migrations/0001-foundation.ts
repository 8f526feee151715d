import type { Migration } from 'kysely/migration';
import type { ColumnTypes } from './columns.ts';

export const foundation = ({ autoId, bytes }: ColumnTypes): Migration => ({
  async up(db) {
    await db.schema
      .createTable('meta')
      .addColumn('key', 'text', (column) => column.primaryKey())
      .addColumn('value', 'text', (column) => column.notNull())
      .execute();

    await db.schema
      .createTable('revisions')
      .addColumn('id', ...autoId)
      .addColumn('hash', 'text', (column) => column.notNull().unique())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('document', bytes, (column) => column.notNull())
      .execute();

    await db.schema
      .createTable('events')
      .addColumn('id', ...autoId)
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('host', 'text')
      .addColumn('attempt', 'text')
      .addColumn('data', 'text', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('events_by_host').on('events').columns(['host', 'id']).execute();
    await db.schema.createIndex('events_by_kind').on('events').columns(['kind', 'id']).execute();
    await db.schema.createIndex('events_by_time').on('events').column('at').execute();

    await db.schema
      .createTable('admin_tokens')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('hash', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .execute();
  },
});
