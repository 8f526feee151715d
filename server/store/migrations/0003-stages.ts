import type { Migration } from 'kysely/migration';
import type { ColumnTypes } from './columns.ts';

export const stages = (_types: ColumnTypes): Migration => ({
  async up(db) {
    // Every stage that an attempt has been at, as a JSON list: reports come late and out of order.
    await db.schema
      .alterTable('attempts')
      .addColumn('seen', 'text', (column) => column.notNull().defaultTo('[]'))
      .execute();
    // Since when it has been known that the next stage is late; empty again when something is heard.
    await db.schema.alterTable('attempts').addColumn('overdue_at', 'bigint').execute();
  },
});
