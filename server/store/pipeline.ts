import type { PipelineLogsTable, PipelineRunsTable, PipelineStepsTable } from './schema.ts';
import type { Db } from './store.ts';

export type StepRow = PipelineStepsTable;
export type RunRow = PipelineRunsTable;
export type LogRow = Omit<PipelineLogsTable, 'id'> & { id: number };

export async function stepRows(db: Db, cluster: string): Promise<StepRow[]> {
  return db.selectFrom('pipeline_steps').selectAll().where('cluster', '=', cluster).execute();
}

export async function putStepRow(db: Db, row: Omit<StepRow, 'key'>): Promise<void> {
  const key = `${row.cluster}/${row.step}`;
  await db
    .insertInto('pipeline_steps')
    .values({ key, ...row })
    .onConflict((conflict) => conflict.column('key').doUpdateSet(row))
    .execute();
}

export async function insertRun(
  db: Db,
  run: Pick<RunRow, 'run' | 'cluster' | 'step' | 'attempt' | 'started_at'>,
): Promise<void> {
  await db
    .insertInto('pipeline_runs')
    .values({ ...run, ended_at: null, result: null, reason: null })
    .execute();
}

export async function endRun(
  db: Db,
  run: string,
  end: { ended_at: number; result: string; reason: string | null },
): Promise<void> {
  await db.updateTable('pipeline_runs').set(end).where('run', '=', run).execute();
}

/** Runs that have not ended: of a process that is no more, unless they are ours. */
export async function openRuns(db: Db): Promise<RunRow[]> {
  return db.selectFrom('pipeline_runs').selectAll().where('ended_at', 'is', null).execute();
}

/** The newest of each step come last. */
export async function runsOf(db: Db, cluster: string, step?: string): Promise<RunRow[]> {
  let query = db.selectFrom('pipeline_runs').selectAll().where('cluster', '=', cluster);
  if (step !== undefined) query = query.where('step', '=', step);
  return query.orderBy('started_at').orderBy('run').execute();
}

/** Drops the oldest runs of a step with what they said. */
export async function pruneRuns(db: Db, cluster: string, step: string, keep: number): Promise<void> {
  const runs = await runsOf(db, cluster, step);
  const doomed = runs.slice(0, Math.max(0, runs.length - keep)).map(({ run }) => run);
  if (doomed.length === 0) return;
  await db.deleteFrom('pipeline_logs').where('run', 'in', doomed).execute();
  await db.deleteFrom('pipeline_runs').where('run', 'in', doomed).execute();
}

export async function insertLog(db: Db, row: Omit<LogRow, 'id'>): Promise<number> {
  const { id } = await db.insertInto('pipeline_logs').values(row).returning('id').executeTakeFirstOrThrow();
  return Number(id);
}

export async function dropLogs(db: Db, ids: readonly number[]): Promise<void> {
  if (ids.length > 0) await db.deleteFrom('pipeline_logs').where('id', 'in', ids).execute();
}

export interface LogQuery {
  cluster: string;
  step?: string | undefined;
  after?: number | undefined;
  limit: number;
}

export type LogLine = LogRow & { step: string };

/** Pieces of a log in their order: the first ones after `after`, or the newest. */
export async function logRows(db: Db, { cluster, step, after, limit }: LogQuery): Promise<LogLine[]> {
  let query = db
    .selectFrom('pipeline_logs')
    .innerJoin('pipeline_runs', 'pipeline_runs.run', 'pipeline_logs.run')
    .selectAll('pipeline_logs')
    .select('pipeline_runs.step')
    .where('pipeline_runs.cluster', '=', cluster);
  // `install-core` is all its parts.
  if (step !== undefined) {
    query = query.where((where) =>
      where.or([where('pipeline_runs.step', '=', step), where('pipeline_runs.step', 'like', `${step}:%`)]),
    );
  }
  if (after !== undefined) {
    return query.where('pipeline_logs.id', '>', after).orderBy('pipeline_logs.id').limit(limit).execute();
  }
  return (await query.orderBy('pipeline_logs.id', 'desc').limit(limit).execute()).reverse();
}

export async function clusterUid(db: Db, cluster: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('pipeline_clusters')
    .select('uid')
    .where('cluster', '=', cluster)
    .executeTakeFirst();
  return row?.uid;
}

/** The first word stands. */
export async function noteClusterUid(db: Db, cluster: string, uid: string, now: number): Promise<void> {
  await db
    .insertInto('pipeline_clusters')
    .values({ cluster, uid, seen_at: now })
    .onConflict((conflict) => conflict.column('cluster').doNothing())
    .execute();
}

/** The name stands for another cluster from now on: nothing has been done to that yet. */
export async function forgetCluster(db: Db, cluster: string): Promise<void> {
  await db.deleteFrom('pipeline_clusters').where('cluster', '=', cluster).execute();
  await db.deleteFrom('pipeline_steps').where('cluster', '=', cluster).execute();
}
