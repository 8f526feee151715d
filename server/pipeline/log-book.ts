import { dropLogs, insertLog, type LogLine, type LogQuery, logRows } from '../store/pipeline.ts';
import type { Store } from '../store/store.ts';

export interface LogBookOptions {
  store: Store;
  now: () => number;
  /** What is kept of one run. */
  maxBytes?: number;
  onFault: (error: unknown) => void;
}

/** A piece of a log has been kept. */
export type LogListener = (cluster: string) => void;

const MAX_BYTES = 256 * 1024;
const FLUSH_MS = 200;

/** What the steps say: kept in the store, and readers hear when there is more. Of each run, the newest part is kept. */
export class LogBook {
  readonly #options: LogBookOptions;
  readonly #listeners = new Set<LogListener>();

  constructor(options: LogBookOptions) {
    this.#options = options;
  }

  list(query: LogQuery): Promise<LogLine[]> {
    return logRows(this.#options.store.db, query);
  }

  subscribe(listener: LogListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  open(cluster: string, run: string): LogWriter {
    const { maxBytes = MAX_BYTES, store, now, onFault } = this.#options;
    return new LogWriter({
      maxBytes,
      onFault,
      keep: async (text) => {
        const id = await insertLog(store.db, { run, at: now(), text });
        for (const listener of this.#listeners) listener(cluster);
        return id;
      },
      drop: (ids) => dropLogs(store.db, ids),
    });
  }
}

interface WriterOptions {
  maxBytes: number;
  keep: (text: string) => Promise<number>;
  drop: (ids: number[]) => Promise<void>;
  onFault: (error: unknown) => void;
}

/** The log of one run. Lines that come close together are kept together. */
export class LogWriter {
  readonly #options: WriterOptions;
  #pending: string[] = [];
  #pendingBytes = 0;
  #kept: { id: number; bytes: number }[] = [];
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;
  #tail: Promise<void> = Promise.resolve();
  /** What was said last: when it fails, most likely why. */
  lastLine = '';

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  line(text: string): void {
    if (text.trim() !== '') this.lastLine = text;
    this.#pending.push(text);
    this.#pendingBytes += text.length + 1;
    // A step that floods us must not take our memory.
    while (this.#pendingBytes > this.#options.maxBytes && this.#pending.length > 1) {
      const bytes = (this.#pending.shift()?.length ?? 0) + 1;
      this.#pendingBytes -= bytes;
      this.#dropped += bytes;
    }
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_MS);
  }

  /** Resolves when all lines are kept. */
  async close(): Promise<void> {
    await this.flush();
    if (this.#dropped > 0) {
      this.line(`[the first ${Math.ceil(this.#dropped / 1024)} KB of this log were not kept]`);
      await this.flush();
    }
  }

  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const text = this.#pending.map((line) => `${line}\n`).join('');
    this.#pending = [];
    this.#pendingBytes = 0;
    if (text !== '') this.#tail = this.#tail.then(() => this.#keep(text)).catch(this.#options.onFault);
    return this.#tail;
  }

  async #keep(text: string): Promise<void> {
    this.#kept.push({ id: await this.#options.keep(text), bytes: text.length });
    let total = this.#kept.reduce((sum, { bytes }) => sum + bytes, 0);
    const doomed: number[] = [];
    while (total > this.#options.maxBytes && this.#kept.length > 1) {
      const { id, bytes } = this.#kept.shift()!;
      doomed.push(id);
      total -= bytes;
      this.#dropped += bytes;
    }
    await this.#options.drop(doomed);
  }
}
