import { Meter } from './meter.ts';

export type JobKind = 'sync' | 'import' | 'verify';
export type FileState = 'waiting' | 'fetching' | 'verifying' | 'there' | 'added' | 'failed';

/** How far one file is. */
export interface JobFile {
  name: string;
  state: FileState;
  bytes: number;
  /** `null` as long as nobody has said it. */
  size: number | null;
  reason?: string;
}

/** How far a job is, as people and programs see it. */
export interface JobStatus {
  job: JobKind;
  state: 'running' | 'done' | 'failed' | 'stopped';
  startedAt: string;
  endedAt: string | null;
  files: JobFile[];
  /** Of all files together, as far as their sizes are known. */
  bytes: number;
  size: number;
  /** Bytes that came over the network. */
  fetched: number;
  /** Bytes a second, lately. */
  rate: number;
  etaSeconds: number | null;
  /** Why it failed as a whole. */
  reason: string | null;
}

/** The account of one job while it runs. */
export class Job {
  readonly kind: JobKind;
  readonly #now: () => number;
  readonly #startedAt: number;
  readonly #files = new Map<string, JobFile>();
  readonly #meter: Meter;
  readonly #stopping = new AbortController();
  #endedAt: number | undefined;
  #state: JobStatus['state'] = 'running';
  #reason: string | undefined;
  #fetched = 0;

  constructor(kind: JobKind, now: () => number) {
    this.kind = kind;
    this.#now = now;
    this.#startedAt = now();
    this.#meter = new Meter(now);
  }

  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  get isRunning(): boolean {
    return this.#state === 'running';
  }

  /** Ends it as soon as it can be ended. */
  stop(): void {
    this.#stopping.abort(new Error('The job was stopped.'));
  }

  expect(name: string): void {
    this.#files.set(name, { name, state: 'waiting', bytes: 0, size: null });
  }

  /** It is none of this job's after all. */
  forget(name: string): void {
    this.#files.delete(name);
  }

  update(name: string, changes: Partial<Omit<JobFile, 'name'>>): void {
    const file = this.#files.get(name);
    if (file !== undefined) Object.assign(file, changes);
  }

  /** This file has so many bytes now, `fetched` of them just now over the network. */
  progress(name: string, bytes: number, size: number | undefined, fetched: number): void {
    const file = this.#files.get(name);
    if (file === undefined) return;
    file.bytes = bytes;
    if (size !== undefined) file.size = size;
    this.#fetched += fetched;
    this.#meter.count(fetched);
  }

  end(state: Exclude<JobStatus['state'], 'running'>, reason?: string): void {
    this.#state = state;
    this.#reason = reason;
    this.#endedAt = this.#now();
  }

  count(state: FileState): number {
    return [...this.#files.values()].filter((file) => file.state === state).length;
  }

  get status(): JobStatus {
    const files = [...this.#files.values()];
    const size = files.reduce((sum, file) => sum + (file.size ?? 0), 0);
    const bytes = files.reduce((sum, file) => sum + Math.min(file.bytes, file.size ?? file.bytes), 0);
    return {
      job: this.kind,
      state: this.#state,
      startedAt: new Date(this.#startedAt).toISOString(),
      endedAt: this.#endedAt === undefined ? null : new Date(this.#endedAt).toISOString(),
      files: files.map((file) => ({ ...file })),
      bytes,
      size,
      fetched: this.#fetched,
      rate: this.isRunning ? Math.round(this.#meter.rate) : 0,
      etaSeconds: this.isRunning ? (this.#meter.eta(size - bytes) ?? null) : null,
      reason: this.#reason ?? null,
    };
  }
}
