import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterAccess } from './access.ts';
import { type Action, decide, type Observation, type ReadyStep } from './decide.ts';
import type { PlannedStep } from './plan.ts';
import type { KeptRecord, Records } from './records.ts';
import type { StepRunner } from './step-runner.ts';

/** What the inventory wants for a cluster now. */
export interface Plan {
  steps: readonly PlannedStep[];
  auto: boolean;
}

export interface ConductorOptions {
  cluster: string;
  /** `undefined` when the inventory has no such cluster any more. */
  plan: () => Plan | undefined;
  inputsOf: (step: PlannedStep) => ReadyStep['inputs'];
  access: ClusterAccess;
  records: Records;
  runner: StepRunner;
  now: () => number;
  /** Something keeps it from going on for longer than it should. Said once for each reason. */
  onStuck: (step: string, reason: string) => void;
  onFault: (error: unknown) => void;
  timing?: Partial<Timing>;
}

export interface Timing {
  /** Between two looks while there is something to do. */
  busyMs: number;
  /** Between two looks while there is nothing. */
  idleMs: number;
  /** How long it may wait for a cluster before that is worth an event. */
  patienceMs: number;
}

const TIMING: Timing = { busyMs: 5000, idleMs: 30_000, patienceMs: 900_000 };

/** A look at a cluster's pipeline, as it was last taken. */
export interface Look {
  action: Action;
  observation: Observation;
  /** Why it could not be asked. */
  whyUnknown: string | undefined;
  /** Since when this action is what it is. */
  since: number;
}

/** Leads one cluster through its pipeline: looks, decides, runs one step, looks again. */
export class Conductor {
  readonly #options: ConductorOptions;
  readonly #timing: Timing;
  readonly #stopping = new AbortController();
  #wake = new AbortController();
  #current: { step: string; abort: AbortController } | undefined;
  #look: Look | undefined;
  #toldStuck = '';
  #loop: Promise<void> = Promise.resolve();

  constructor(options: ConductorOptions) {
    this.#options = options;
    this.#timing = { ...TIMING, ...options.timing };
  }

  get look(): Look | undefined {
    return this.#look;
  }

  /** The step that runs now. */
  get running(): string | undefined {
    return this.#current?.step;
  }

  start(): void {
    this.#loop = this.#conduct();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#current?.abort.abort();
    this.wake();
    await this.#loop;
  }

  /** Something has happened that may change what is next. */
  wake(): void {
    this.#wake.abort();
  }

  /** Ends the run of a step, if it is the one that runs. */
  interrupt(step: string): void {
    if (this.#current?.step === step) this.#current.abort.abort();
  }

  async #conduct(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      this.#wake = new AbortController();
      const pause = await this.#turn().catch((error: unknown) => {
        this.#options.onFault(error);
        return this.#timing.busyMs;
      });
      if (pause === 0 || this.#stopping.signal.aborted) continue;
      await sleep(pause, undefined, { signal: this.#wake.signal, ref: false }).catch(() => {});
    }
  }

  /** One look and what follows from it; how long until the next. */
  async #turn(): Promise<number> {
    const { cluster, plan: planOf, records: recordsOf, inputsOf, access, now } = this.#options;
    const plan = planOf();
    if (plan === undefined) return this.#timing.idleMs;
    const records = await recordsOf.of(cluster);
    const steps = plan.steps.map((step) => ({ ...step, inputs: inputsOf(step) }));
    let whyUnknown: string | undefined;
    const observation = await access.observe(cluster).catch((error: unknown): Observation => {
      whyUnknown = error instanceof Error ? error.message : undefined;
      return 'unknown';
    });
    const action = decide({ steps, records, observation, whyUnknown, auto: plan.auto, now: now() });
    this.#note(action, observation, whyUnknown);
    if (action.action === 'run') return this.#run(action, plan, steps, records, observation);
    this.#tellIfStuck(action, records);
    if (action.action === 'wait') {
      const left = action.until === undefined ? this.#timing.busyMs : action.until - now();
      return Math.max(1, Math.min(this.#timing.busyMs, left));
    }
    return this.#timing.idleMs;
  }

  async #run(
    action: Extract<Action, { action: 'run' }>,
    plan: Plan,
    steps: readonly (PlannedStep & ReadyStep)[],
    records: ReadonlyMap<string, KeptRecord>,
    observation: Observation,
  ): Promise<number> {
    const { cluster, runner } = this.#options;
    const step = plan.steps.find(({ name }) => name === action.step)!;
    const { inputs } = steps.find(({ name }) => name === action.step)!;
    const abort = new AbortController();
    this.#current = { step: step.name, abort };
    try {
      const outcome = await runner.run(
        step,
        {
          cluster,
          step: step.name,
          inputs: inputs as string,
          attempt: action.attempt,
          resumed: action.resumed,
          why: action.why,
          nodes: observation === 'unknown' ? 0 : observation.nodesReady,
        },
        abort.signal,
      );
      if (outcome.result !== 'not-yet') return 0;
      const waiting: Action = { action: 'wait', step: step.name, why: outcome.why };
      this.#note(waiting, observation);
      this.#tellIfStuck(waiting, records);
      return this.#timing.busyMs;
    } finally {
      this.#current = undefined;
    }
  }

  #note(action: Action, observation: Observation, whyUnknown?: string): void {
    const before = this.#look;
    const isSame = before !== undefined && describe(before.action) === describe(action);
    this.#look = { action, observation, whyUnknown, since: isSame ? before.since : this.#options.now() };
  }

  /** To wait for machines that nobody has switched on yet is nothing to tell, until something was begun. */
  #tellIfStuck(action: Action, records: ReadonlyMap<string, KeptRecord>): void {
    if (action.action !== 'refuse' && action.action !== 'wait') return;
    const { now, onStuck } = this.#options;
    if (action.action === 'wait') {
      const hasBegun = [...records.values()].some(({ state, ordered }) => state === 'done' || ordered);
      const isLate = now() - (this.#look?.since ?? now()) > this.#timing.patienceMs;
      if (action.until !== undefined || !hasBegun || !isLate) return;
    }
    const text = describe(action);
    if (text === this.#toldStuck) return;
    this.#toldStuck = text;
    onStuck(action.step, action.why);
  }
}

function describe(action: Action): string {
  return action.action === 'done' ? 'done' : `${action.action} ${action.step} ${action.why}`;
}
