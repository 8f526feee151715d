import type { Migration } from 'kysely/migration';
import type { ColumnTypes } from './columns.ts';

export const provisioning = (types: ColumnTypes): Migration => ({
  async up(db) {
    // From now on `token` is a hash, and the token itself is derived from `seed`: who reads the database gets none.
    await db.deleteFrom('attempts').execute();
    await db.schema.alterTable('attempts').addColumn('seed', 'text').execute();
    // Where its kernel went to.
    await db.schema.alterTable('attempts').addColumn('opened_from', 'text').execute();

    // Since when it is a member of its cluster.
    await db.schema.alterTable('hosts').addColumn('joined_at', 'bigint').execute();

    // What an attempt is to be configured with, sealed: the same bytes until it is over, whatever is edited meanwhile.
    await db.schema
      .createTable('frozen_configs')
      .addColumn('attempt', 'text', (column) => column.primaryKey())
      .addColumn('host', 'text', (column) => column.notNull())
      .addColumn('hash', 'text', (column) => column.notNull())
      .addColumn('sealed', types.bytes, (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .execute();

    // Tokens that installers wrote to disk, for the first boot from there.
    await db.schema
      .createTable('first_boots')
      .addColumn('token', 'text', (column) => column.primaryKey())
      .addColumn('host', 'text', (column) => column.notNull())
      .addColumn('attempt', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('ended_at', 'bigint')
      .execute();

    // Machines that have registered: `token` is the hash of their own one, `credential` that of the one they came with.
    await db.schema
      .createTable('agents')
      .addColumn('token', 'text', (column) => column.primaryKey())
      .addColumn('host', 'text', (column) => column.notNull())
      .addColumn('attempt', 'text', (column) => column.notNull())
      .addColumn('credential', 'text', (column) => column.notNull().unique())
      .addColumn('nonce', 'text', (column) => column.notNull())
      .addColumn('registered_at', 'bigint', (column) => column.notNull())
      .addColumn('last_seen', 'bigint', (column) => column.notNull())
      .addColumn('revoked_at', 'bigint')
      .execute();
    await db.schema.createIndex('agents_by_host').on('agents').column('host').execute();
  },
});
