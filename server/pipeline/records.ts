import type { NewEvent } from '../events/kinds.ts';
import type { EventLog } from '../events/log.ts';
import {
  clusterUid,
  endRun,
  forgetCluster,
  insertRun,
  noteClusterUid,
  openRuns,
  pruneRuns,
  putStepRow,
  type RunRow,
  runsOf,
  type StepRow,
  stepRows,
} from '../store/pipeline.ts';
import type { Store } from '../store/store.ts';
import type { StepRecord } from './decide.ts';

/** How a step stands, and its newest run. */
export type KeptRecord = StepRecord & { run: string | undefined };

export interface Begun {
  cluster: string;
  step: string;
  run: string;
  inputs: string;
  attempt: number;
  resumed: boolean;
  why: string;
  nodes: number;
}

const RUNS_KEPT = 10;

/** What the pipeline remembers. Each change is committed together with the event that tells of it. */
export class Records {
  readonly #store: Store;
  readonly #events: EventLog;
  readonly #now: () => number;

  constructor(options: { store: Store; events: EventLog; now: () => number }) {
    this.#store = options.store;
    this.#events = options.events;
    this.#now = options.now;
  }

  async of(cluster: string): Promise<Map<string, KeptRecord>> {
    const rows = await stepRows(this.#store.db, cluster);
    return new Map(rows.map((row) => [row.step, fromRow(row)]));
  }

  runs(cluster: string, step?: string): Promise<RunRow[]> {
    return runsOf(this.#store.db, cluster, step);
  }

  /** Before anything is done: who comes after a crash knows what was under way. */
  async begin(begun: Begun): Promise<void> {
    const { cluster, step, run, inputs, attempt, resumed, why, nodes } = begun;
    const now = this.#now();
    await this.#events.transact(async (db) => {
      const before = (await stepRows(db, cluster)).find((row) => row.step === step);
      await putStepRow(db, {
        cluster,
        step,
        state: 'running',
        inputs,
        attempts: attempt - 1,
        run,
        since: now,
        retry_at: null,
        reason: null,
        ordered: before?.ordered ?? 0,
        nodes,
      });
      await insertRun(db, { run, cluster, step, attempt, started_at: now });
      await pruneRuns(db, cluster, step, RUNS_KEPT);
      return [{ kind: 'pipeline.step-started', data: { cluster, step, attempt, resumed, why } }];
    });
  }

  async done(begun: Begun): Promise<void> {
    const { cluster, step } = begun;
    await this.#end(begun, 'done', null, { state: 'done', attempts: 0, ordered: 0 }, async (seconds) => ({
      kind: 'pipeline.step-done',
      data: { cluster, step, seconds },
    }));
  }

  async failed(begun: Begun, reason: string, retryAt: number | undefined): Promise<void> {
    const { cluster, step, attempt } = begun;
    const change =
      retryAt === undefined
        ? { state: 'failed', attempts: attempt, ordered: 0, reason }
        : { state: 'retrying', attempts: attempt, reason, retry_at: retryAt };
    await this.#end(begun, 'failed', reason, change, async (seconds) => ({
      kind: 'pipeline.step-failed',
      data: {
        cluster,
        step,
        attempt,
        reason,
        seconds,
        ...(retryAt === undefined
          ? {}
          : { retryInSeconds: Math.max(0, Math.round((retryAt - this.#now()) / 1000)) }),
      },
    }));
  }

  /** Refused before it began: nothing was done. */
  async refused(cluster: string, step: string, inputs: string, reason: string): Promise<void> {
    const now = this.#now();
    await this.#events.transact(async (db) => {
      await putStepRow(db, {
        ...NEW_ROW,
        cluster,
        step,
        inputs,
        state: 'failed',
        since: now,
        reason,
      });
      return [{ kind: 'pipeline.step-failed', data: { cluster, step, attempt: 0, reason, seconds: 0 } }];
    });
  }

  async #end(
    { cluster, step, run }: Begun,
    result: string,
    reason: string | null,
    change: Partial<StepRow>,
    eventOf: (seconds: number) => Promise<NewEvent>,
  ): Promise<void> {
    const now = this.#now();
    await this.#events.transact(async (db) => {
      const row = (await stepRows(db, cluster)).find((one) => one.step === step);
      // Another beginning was ordered meanwhile: that one counts.
      if (row === undefined || row.run !== run) return [];
      const { key: _key, ...rest } = row;
      // Skipped by a person while it ran: their word stands.
      const kept = row.state === 'skipped' ? {} : { ...change, since: now };
      await putStepRow(db, { ...rest, ...kept });
      await endRun(db, run, { ended_at: now, result, reason });
      return [await eventOf(Math.round((now - row.since) / 100) / 10)];
    });
  }

  /** Cut off by us: the step is to be resumed, unless a person wants it skipped. */
  async interrupted({ run }: Begun): Promise<void> {
    await this.#events.transact(async (db) => {
      await endRun(db, run, { ended_at: this.#now(), result: 'interrupted', reason: 'it was stopped' });
      return [];
    });
  }

  /** Runs of a process that is no more. They are not failures of their steps. */
  async closeOpenRuns(): Promise<RunRow[]> {
    const runs = await openRuns(this.#store.db);
    if (runs.length === 0) return [];
    await this.#events.transact(async (db) => {
      const end = { ended_at: this.#now(), result: 'interrupted', reason: 'the appliance was stopped' };
      for (const { run } of runs) await endRun(db, run, end);
      return [];
    });
    return runs;
  }

  /** A person's word about some steps. */
  async order(
    cluster: string,
    order: 'run' | 'retry' | 'skip' | 'anew',
    steps: readonly string[],
    shownAs?: string,
  ): Promise<void> {
    const now = this.#now();
    await this.#events.transact(async (db) => {
      if (order === 'anew') await forgetCluster(db, cluster);
      const rows = new Map((await stepRows(db, cluster)).map((row) => [row.step, row]));
      for (const step of steps) {
        const { key: _key, ...before } = rows.get(step) ?? { key: '', ...NEW_ROW, cluster, step };
        const change =
          order === 'skip'
            ? { state: 'skipped', ordered: 0, since: now, reason: 'skipped by hand', retry_at: null }
            : { ordered: 1, attempts: 0, retry_at: null };
        await putStepRow(db, { ...before, ...change });
      }
      const data = { cluster, order, ...(shownAs === undefined ? {} : { step: shownAs }) };
      return [{ kind: 'pipeline.ordered', data }];
    });
  }

  async forget(cluster: string): Promise<void> {
    await this.#events.transact(async (db) => {
      await forgetCluster(db, cluster);
      return [];
    });
  }

  uid(cluster: string): Promise<string | undefined> {
    return clusterUid(this.#store.db, cluster);
  }

  async noteUid(cluster: string, uid: string): Promise<void> {
    await noteClusterUid(this.#store.db, cluster, uid, this.#now());
  }
}

const NEW_ROW = {
  state: 'pending',
  inputs: '',
  attempts: 0,
  run: null,
  since: 0,
  retry_at: null,
  reason: null,
  ordered: 0,
  nodes: 0,
} as const;

function fromRow(row: StepRow): KeptRecord {
  return {
    state: row.state as StepRecord['state'],
    inputs: row.inputs,
    attempts: row.attempts,
    since: row.since,
    ordered: row.ordered === 1,
    nodes: row.nodes,
    run: row.run ?? undefined,
    ...(row.retry_at === null ? {} : { retryAt: row.retry_at }),
    ...(row.reason === null ? {} : { reason: row.reason }),
  };
}
