import type { Migration } from 'kysely/migration';
import type { ColumnTypes } from './columns.ts';

export const pipeline = (types: ColumnTypes): Migration => ({
  async up(db) {
    // Which cluster a name stands for: the uid of its namespace kube-system, noted when the first step ran.
    await db.schema
      .createTable('pipeline_clusters')
      .addColumn('cluster', 'text', (column) => column.primaryKey())
      .addColumn('uid', 'text', (column) => column.notNull())
      .addColumn('seen_at', 'bigint', (column) => column.notNull())
      .execute();

    // How far each step is, and with which inputs.
    await db.schema
      .createTable('pipeline_steps')
      .addColumn('key', 'text', (column) => column.primaryKey())
      .addColumn('cluster', 'text', (column) => column.notNull())
      .addColumn('step', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('inputs', 'text', (column) => column.notNull())
      .addColumn('attempts', 'integer', (column) => column.notNull())
      .addColumn('run', 'text')
      .addColumn('since', 'bigint', (column) => column.notNull())
      .addColumn('retry_at', 'bigint')
      .addColumn('reason', 'text')
      .addColumn('ordered', 'integer', (column) => column.notNull())
      .addColumn('nodes', 'integer', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('pipeline_steps_by_cluster').on('pipeline_steps').column('cluster').execute();

    // Every run that is remembered.
    await db.schema
      .createTable('pipeline_runs')
      .addColumn('run', 'text', (column) => column.primaryKey())
      .addColumn('cluster', 'text', (column) => column.notNull())
      .addColumn('step', 'text', (column) => column.notNull())
      .addColumn('attempt', 'integer', (column) => column.notNull())
      .addColumn('started_at', 'bigint', (column) => column.notNull())
      .addColumn('ended_at', 'bigint')
      .addColumn('result', 'text')
      .addColumn('reason', 'text')
      .execute();
    await db.schema
      .createIndex('pipeline_runs_by_step')
      .on('pipeline_runs')
      .columns(['cluster', 'step', 'started_at'])
      .execute();

    // What they said, in pieces of whole lines.
    await db.schema
      .createTable('pipeline_logs')
      .addColumn('id', ...types.autoId)
      .addColumn('run', 'text', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addColumn('text', 'text', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('pipeline_logs_by_run').on('pipeline_logs').columns(['run', 'id']).execute();
  },
});
