import { RailheadError, toRailheadError } from '../errors.ts';
import { importFrom } from './import.ts';
import { Job, type JobKind, type JobStatus } from './job.ts';
import { needs } from './needs.ts';
import { pinOf } from './pins.ts';
import { type PlannedSet, plan } from './plan.ts';
import { isStale, neededNames, type Pruned, prune } from './prune.ts';
import { sync } from './sync.ts';
import type { AssetTools } from './tools.ts';
import { verify } from './verify.ts';

/** One file that is here, or that is needed and is not. */
export interface AssetView {
  name: string;
  state: 'there' | 'missing';
  size: number | null;
  sha256: string | null;
  origin: string | null;
  addedAt: string | null;
  verifiedHow: string | null;
  /** Something needs it; what is not needed is what `prune` removes. */
  needed: boolean;
}

export interface AssetUsage {
  bytes: number;
  contents: number;
  names: number;
  free: number;
}

/** The images: what is needed, what is there, and the jobs that get from one to the other. One job at a time. */
export class AssetService {
  readonly #tools: AssetTools;
  #job: Job | undefined;
  #work: Promise<void> = Promise.resolve();

  constructor(tools: AssetTools) {
    this.#tools = tools;
  }

  /** Ends the job that runs; what it has fetched stays for the next one. */
  async stop(): Promise<void> {
    this.#job?.stop();
    await this.#work;
    this.#tools.web.stop();
  }

  /** How far the job is that runs, or how the last one ended; `undefined` when there was none since the start. */
  get status(): JobStatus | undefined {
    return this.#job?.status;
  }

  /** What images are verified with here, if it is known, so that machines verify with the same. */
  signingKey(): Promise<string | undefined> {
    return this.#tools.key.kept();
  }

  sync({ refresh = false }: { refresh?: boolean } = {}): JobStatus {
    // Who wants the same as what runs already may watch it.
    if (this.#job?.isRunning && this.#job.kind === 'sync') return this.#job.status;
    return this.#begin('sync', (job) => sync(this.#tools, job, { refresh }));
  }

  import(path: string): JobStatus {
    return this.#begin('import', (job) => importFrom(this.#tools, job, path));
  }

  verify(): JobStatus {
    return this.#begin('verify', (job) => verify(this.#tools, job));
  }

  /** Ends the job that runs. `undefined` when none does. */
  async cancel(): Promise<JobStatus | undefined> {
    if (this.#job?.isRunning !== true) return undefined;
    this.#job.stop();
    await this.#work;
    return this.#job.status;
  }

  async prune({ dryRun }: { dryRun: boolean }): Promise<Pruned[]> {
    if (this.#job?.isRunning === true && !dryRun) throw busy(this.#job.kind);
    return prune(this.#tools, { dryRun });
  }

  usage(): Promise<AssetUsage> {
    return this.#tools.contents.usage();
  }

  async list(): Promise<AssetView[]> {
    const { contents } = this.#tools;
    const needed = await neededNames(this.#tools);
    const views = new Map<string, AssetView>();
    for (const named of await contents.names()) {
      const { name, sha256, size, origin, addedAt, verifiedHow } = named;
      const isThere = (await contents.resolve(name)) !== undefined;
      views.set(name, {
        name,
        state: isThere ? 'there' : 'missing',
        size,
        sha256,
        origin,
        addedAt: new Date(addedAt).toISOString(),
        verifiedHow,
        needed: !isStale(named, needed),
      });
    }
    for (const name of needed.names) if (!views.has(name)) views.set(name, missing(name));
    return [...views.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The sets of files that the inventory needs, as far as `current` is known. */
  async plan(): Promise<PlannedSet[]> {
    const { inventory, mirrors, store } = this.#tools;
    const wanted = needs(inventory());
    const pins = new Map<unknown, string | undefined>();
    for (const image of wanted.images) pins.set(image, await pinOf(store.db, image));
    return plan(wanted, mirrors, (image) => pins.get(image));
  }

  #begin(kind: JobKind, work: (job: Job) => Promise<void>): JobStatus {
    if (this.#job?.isRunning === true) throw busy(this.#job.kind);
    const job = new Job(kind, this.#tools.now);
    this.#job = job;
    this.#work = this.#run(job, work);
    return job.status;
  }

  async #run(job: Job, work: (job: Job) => Promise<void>): Promise<void> {
    let reason: string | undefined;
    let state: 'done' | 'failed' | 'stopped' = 'done';
    try {
      await work(job);
      if (job.count('failed') > 0) state = 'failed';
    } catch (error) {
      const wasStopped = job.signal.aborted && error === job.signal.reason;
      state = wasStopped ? 'stopped' : 'failed';
      if (!wasStopped) {
        const { message, hint } = toRailheadError(error);
        reason = hint === undefined ? message : `${message} ${hint}`;
      }
    }
    const data = {
      job: job.kind,
      result: state,
      added: job.count('added'),
      failed: job.count('failed'),
      fetched: job.status.fetched,
      ...(reason === undefined ? {} : { reason }),
    };
    // Told before it is over: who waits for the end finds the event.
    await this.#tools.events.append({ kind: 'assets.job-ended', data }).catch(() => {});
    job.end(state, reason);
  }
}

function busy(kind: JobKind): RailheadError {
  return new RailheadError('RH_ASSETS_BUSY', `A job is under way: ${kind}.`, {
    hint: 'Wait for it, or end it with `npx railhead assets sync --stop`.',
  });
}

function missing(name: string): AssetView {
  return {
    name,
    state: 'missing',
    size: null,
    sha256: null,
    origin: null,
    addedAt: null,
    verifiedHow: null,
    needed: true,
  };
}
