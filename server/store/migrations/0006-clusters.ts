import { sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import type { ColumnTypes } from './columns.ts';

export const clusters = (types: ColumnTypes): Migration => ({
  async up(db) {
    // What makes a cluster this one, sealed; and when its API was first seen.
    await db.schema
      .createTable('clusters')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('sealed', types.bytes, (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('api_seen_at', 'bigint')
      .execute();

    // Who may run `kubeadm init`: one host for each cluster, by this primary key, whoever asks at the same time.
    await db.schema
      .createTable('init_claims')
      .addColumn('cluster', 'text', (column) => column.primaryKey())
      .addColumn('host', 'text', (column) => column.notNull())
      .addColumn('address', 'text', (column) => column.notNull())
      .addColumn('claimed_at', 'bigint', (column) => column.notNull())
      .addColumn('answers', 'bigint', (column) => column.notNull())
      .addColumn('done_at', 'bigint')
      .execute();

    // Hosts that were told to join, and until when their turn lasts.
    await db.schema
      .createTable('joins')
      .addColumn('id', ...types.autoId)
      .addColumn('cluster', 'text', (column) => column.notNull())
      .addColumn('host', 'text', (column) => column.notNull())
      .addColumn('role', 'text', (column) => column.notNull())
      .addColumn('started_at', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .addColumn('answers', 'bigint', (column) => column.notNull())
      .addColumn('ended_at', 'bigint')
      .addColumn('outcome', 'text')
      .execute();
    await db.schema
      .createIndex('joins_one_a_host')
      .unique()
      .on('joins')
      .column('host')
      .where(sql<boolean>`ended_at is null`)
      .execute();
    // etcd takes one new member at a time.
    await db.schema
      .createIndex('joins_one_control_plane')
      .unique()
      .on('joins')
      .column('cluster')
      .where(sql<boolean>`role = 'control-plane' and ended_at is null`)
      .execute();

    // What a host shows the API the first time. The row goes when the API has it no more.
    await db.schema
      .createTable('bootstrap_tokens')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('cluster', 'text', (column) => column.notNull())
      .addColumn('host', 'text', (column) => column.notNull())
      .addColumn('sealed', types.bytes, (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .addColumn('in_init', 'bigint', (column) => column.notNull())
      .addColumn('used_at', 'bigint')
      .execute();

    // Nodes as the API has shown them last.
    await db.schema
      .createTable('nodes')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('cluster', 'text', (column) => column.notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('ready', 'text', (column) => column.notNull())
      .addColumn('reason', 'text', (column) => column.notNull())
      .addColumn('message', 'text', (column) => column.notNull())
      .addColumn('kubelet_version', 'text', (column) => column.notNull())
      .addColumn('since', 'bigint', (column) => column.notNull())
      .execute();
  },
});
