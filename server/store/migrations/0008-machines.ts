import { sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import type { ColumnTypes } from './columns.ts';

export const machines = (types: ColumnTypes): Migration => ({
  async up(db) {
    // Their tokens ended with a boot. Machines register again, with a secret of their own.
    await db.schema.dropTable('agents').execute();

    // Several boots of a host may be under way: each belongs to the address that asked for its menu.
    await db.schema.alterTable('attempts').addColumn('offered_to', 'text').execute();
    await db.schema
      .alterTable('attempts')
      .addColumn('own_nic', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
    // When it got its configuration over TLS.
    await db.schema.alterTable('attempts').addColumn('gate_at', 'bigint').execute();

    // One identity of a host. A reinstall or a trusted replacement makes the next generation; a boot never does.
    await db.schema
      .createTable('machines')
      .addColumn('id', ...types.autoId)
      .addColumn('host', 'text', (column) => column.notNull())
      .addColumn('generation', 'integer', (column) => column.notNull())
      .addColumn('secret', 'text', (column) => column.notNull())
      .addColumn('token', 'text', (column) => column.notNull())
      .addColumn('uuid', 'text')
      .addColumn('serial', 'text')
      .addColumn('boot_id', 'text')
      .addColumn('attempt', 'text')
      .addColumn('address', 'text')
      .addColumn('registered_at', 'bigint', (column) => column.notNull())
      .addColumn('booted_at', 'bigint', (column) => column.notNull())
      .addColumn('last_seen', 'bigint', (column) => column.notNull())
      .addColumn('rebooting_at', 'bigint')
      .addColumn('versions', 'text', (column) => column.notNull())
      .addColumn('revoked_at', 'bigint')
      .execute();
    await db.schema
      .createIndex('machines_one_a_host')
      .unique()
      .on('machines')
      .column('host')
      .where(sql<boolean>`revoked_at is null`)
      .execute();
    await db.schema.createIndex('machines_by_secret').on('machines').column('secret').execute();
    await db.schema.createIndex('machines_by_token').on('machines').column('token').execute();

    // When a host may be given cluster-wide secrets, and to which identity.
    await db.schema
      .createTable('windows')
      .addColumn('id', ...types.autoId)
      .addColumn('host', 'text', (column) => column.notNull())
      .addColumn('reason', 'text', (column) => column.notNull())
      .addColumn('opened_at', 'bigint', (column) => column.notNull())
      .addColumn('machine', 'bigint')
      .addColumn('closed_at', 'bigint')
      .addColumn('outcome', 'text')
      .execute();
    await db.schema
      .createIndex('windows_one_a_host')
      .unique()
      .on('windows')
      .column('host')
      .where(sql<boolean>`closed_at is null`)
      .execute();

    // Machines that want to be a host and are not: an operator decides.
    await db.schema
      .createTable('candidates')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('host', 'text', (column) => column.notNull())
      .addColumn('secret', 'text', (column) => column.notNull())
      .addColumn('reason', 'text', (column) => column.notNull())
      .addColumn('address', 'text', (column) => column.notNull())
      .addColumn('nic', 'text')
      .addColumn('uuid', 'text')
      .addColumn('serial', 'text')
      .addColumn('first_seen', 'bigint', (column) => column.notNull())
      .addColumn('last_seen', 'bigint', (column) => column.notNull())
      .addColumn('dismissed_at', 'bigint')
      .execute();
    await db.schema.createIndex('candidates_by_host').on('candidates').column('host').execute();
  },
});
