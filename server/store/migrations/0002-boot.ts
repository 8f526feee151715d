import type { Migration } from 'kysely/migration';
import type { ColumnTypes } from './columns.ts';

export const boot = (_types: ColumnTypes): Migration => ({
  async up(db) {
    // What was seen of a host of the inventory, and the flags that people set. A host without a row was never seen.
    await db.schema
      .createTable('hosts')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('state_since', 'bigint', (column) => column.notNull())
      .addColumn('last_seen', 'bigint')
      .addColumn('installed_at', 'bigint')
      .addColumn('reinstall_at', 'bigint')
      .addColumn('hold_reason', 'text')
      .addColumn('hold_since', 'bigint')
      .addColumn('ever_ready', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('failures', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();

    // One boot of one host. `opened_at` is when it fetched its kernel: until then it is only an offer.
    await db.schema
      .createTable('attempts')
      .addColumn('token', 'text', (column) => column.primaryKey())
      .addColumn('host', 'text', (column) => column.notNull())
      .addColumn('action', 'text', (column) => column.notNull())
      .addColumn('offer', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('opened_at', 'bigint')
      .addColumn('stage', 'text', (column) => column.notNull())
      .addColumn('stage_at', 'bigint', (column) => column.notNull())
      .addColumn('closed_at', 'bigint')
      .addColumn('outcome', 'text')
      .execute();
    await db.schema.createIndex('attempts_by_host').on('attempts').columns(['host', 'created_at']).execute();

    // Machines that are not in the inventory.
    await db.schema
      .createTable('sightings')
      .addColumn('mac', 'text', (column) => column.primaryKey())
      .addColumn('uuid', 'text')
      .addColumn('serial', 'text')
      .addColumn('vendor', 'text')
      .addColumn('address', 'text')
      .addColumn('first_seen', 'bigint', (column) => column.notNull())
      .addColumn('last_seen', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('sightings_by_time').on('sightings').column('last_seen').execute();
  },
});
