import { expect, it } from 'vitest';
import {
  clusterUid,
  dropLogs,
  endRun,
  forgetCluster,
  insertLog,
  insertRun,
  logRows,
  noteClusterUid,
  openRuns,
  pruneRuns,
  putStepRow,
  runsOf,
  stepRows,
} from '../../server/store/pipeline.ts';
import { onEveryStore } from '../support/stores.ts';

const STEP = {
  cluster: 'lab',
  step: 'one',
  state: 'running',
  inputs: 'h',
  attempts: 0,
  run: 'r1',
  since: 1_700_000_000_000,
  retry_at: null,
  reason: null,
  ordered: 0,
  nodes: 0,
};

onEveryStore('the pipeline', (kind) => {
  it('keeps one row for each step of each cluster', async () => {
    const { db } = await kind.open();
    await putStepRow(db, STEP);
    await putStepRow(db, { ...STEP, cluster: 'other' });
    await putStepRow(db, { ...STEP, state: 'done', retry_at: 5 });
    expect(await stepRows(db, 'lab')).toEqual([{ ...STEP, key: 'lab/one', state: 'done', retry_at: 5 }]);
    await noteClusterUid(db, 'lab', 'u1', 1);
    await noteClusterUid(db, 'lab', 'u2', 2);
    expect(await clusterUid(db, 'lab')).toBe('u1');
    await forgetCluster(db, 'lab');
    expect(await clusterUid(db, 'lab')).toBeUndefined();
    expect(await stepRows(db, 'lab')).toEqual([]);
    expect(await stepRows(db, 'other')).toHaveLength(1);
  });

  it('keeps runs with what they said, and drops the oldest', async () => {
    const { db } = await kind.open();
    const ids: number[] = [];
    for (const [index, step] of ['core:a', 'core:a', 'core:b', 'core'].entries()) {
      await insertRun(db, { run: `r${index}`, cluster: 'lab', step, attempt: 1, started_at: index });
      ids.push(await insertLog(db, { run: `r${index}`, at: 1_700_000_000_000 + index, text: `${index}\n` }));
    }
    await insertLog(db, { run: 'nobody', at: 1, text: 'x' });
    const texts = async (query: { step?: string; after?: number; limit?: number } = {}) =>
      (await logRows(db, { cluster: 'lab', limit: 10, ...query })).map(({ text }) => text.trim());
    expect(await texts()).toEqual(['0', '1', '2', '3']);
    expect(await texts({ limit: 2 })).toEqual(['2', '3']);
    expect(await texts({ step: 'core:a' })).toEqual(['0', '1']);
    expect(await texts({ step: 'core' })).toEqual(['0', '1', '2', '3']);
    expect(await texts({ after: ids[0]!, limit: 2 })).toEqual(['1', '2']);
    expect((await logRows(db, { cluster: 'lab', limit: 1 }))[0]).toMatchObject({
      id: ids[3],
      step: 'core',
      run: 'r3',
    });
    await endRun(db, 'r0', { ended_at: 9, result: 'done', reason: null });
    expect((await openRuns(db)).map(({ run }) => run)).toEqual(['r1', 'r2', 'r3']);
    await pruneRuns(db, 'lab', 'core:a', 1);
    expect((await runsOf(db, 'lab', 'core:a')).map(({ run }) => run)).toEqual(['r1']);
    await dropLogs(db, [ids[2]!]);
    expect(await texts()).toEqual(['1', '3']);
  });
});
