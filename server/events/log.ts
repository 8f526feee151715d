import {
  type EventQuery,
  type EventRow,
  insertEvents,
  listEvents,
  PRUNE_BATCH,
  pruneEvents,
} from '../store/events.ts';
import type { Db, Store } from '../store/store.ts';
import type { Event, NewEvent } from './kinds.ts';

export interface EventLogOptions {
  store: Store;
  now: () => number;
  /** How many events are kept, and for how long. */
  keepCount: number;
  keepDays: number;
}

interface Pending {
  event: NewEvent;
  resolve: (event: Event) => void;
  reject: (error: unknown) => void;
}

export type Listener = (event: Event) => void;

const DAY = 86_400_000;
const PRUNE_EVERY_MS = 60_000;

/**
 * The append-only log that every part speaks through. An append is acknowledged when it is committed; appends that
 * come close together share one commit. Listeners hear of an event after its commit, in the order of ids.
 */
export class EventLog {
  readonly #options: EventLogOptions;
  readonly #listeners = new Set<Listener>();
  #pending: Pending[] = [];
  /** Writes go one after another, so that ids are handed to listeners in order. */
  #tail: Promise<unknown> = Promise.resolve();
  #flushScheduled = false;
  #pruneTimer: NodeJS.Timeout | undefined;
  #fault: unknown;

  constructor(options: EventLogOptions) {
    this.#options = options;
  }

  start(): void {
    this.#pruneTimer = setInterval(() => void this.prune().catch(() => {}), PRUNE_EVERY_MS);
    this.#pruneTimer.unref();
  }

  /** Resolves when everything that was appended is committed. */
  async stop(): Promise<void> {
    clearInterval(this.#pruneTimer);
    while (this.#pending.length > 0) await this.#flush().catch(() => {});
    await this.#tail.catch(() => {});
  }

  /** The last write failed with this; `undefined` when it went well. */
  get fault(): unknown {
    return this.#fault;
  }

  append(event: NewEvent): Promise<Event> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ event, resolve, reject });
      if (this.#flushScheduled) return;
      this.#flushScheduled = true;
      setImmediate(() => void this.#flush());
    });
  }

  /** Commits a change and the events that tell of it together: neither is ever there without the other. */
  transact(change: (db: Db) => Promise<NewEvent[]>): Promise<Event[]> {
    return this.#enqueue(change);
  }

  async list(query: EventQuery): Promise<Event[]> {
    return (await listEvents(this.#options.store.db, query)).map(fromRow);
  }

  /** Drops events beyond the limits, batch by batch, with other writes in between. */
  async prune(): Promise<void> {
    const { now, keepCount, keepDays } = this.#options;
    let dropped = PRUNE_BATCH;
    while (dropped === PRUNE_BATCH) {
      await this.transact(async (db) => {
        dropped = await pruneEvents(db, { count: keepCount, since: now() - keepDays * DAY });
        return [];
      });
    }
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #flush(): Promise<void> {
    let batch: Pending[] = [];
    try {
      const events = await this.#enqueue(async () => {
        this.#flushScheduled = false;
        batch = this.#pending;
        this.#pending = [];
        return batch.map(({ event }) => event);
      });
      batch.forEach(({ resolve }, index) => {
        resolve(events[index]!);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  /** One transaction after another: the change, its events, and after the commit the listeners. */
  #enqueue(change: (db: Db) => Promise<NewEvent[]>): Promise<Event[]> {
    const result = this.#tail.then(async () => {
      const events = await this.#commit(change);
      for (const event of events) for (const listener of this.#listeners) listener(event);
      return events;
    });
    this.#tail = result.catch(() => {});
    return result;
  }

  async #commit(change: (db: Db) => Promise<NewEvent[]>): Promise<Event[]> {
    let isOurs = true;
    try {
      const events = await this.#options.store.db.transaction().execute(async (trx) => {
        isOurs = false; // what the change itself throws is its caller's, not a fault of the store
        const news = await change(trx);
        isOurs = true;
        return this.#insert(trx, news);
      });
      this.#fault = undefined;
      return events;
    } catch (error) {
      if (isOurs) this.#fault = error;
      throw error;
    }
  }

  async #insert(db: Db, events: readonly NewEvent[]): Promise<Event[]> {
    const at = this.#options.now();
    const rows = events.map(({ kind, host, attempt, data }) => ({
      at,
      kind,
      host: host ?? null,
      attempt: attempt ?? null,
      data: JSON.stringify(data),
    }));
    return (await insertEvents(db, rows)).map(fromRow);
  }
}

function fromRow(row: EventRow): Event {
  const event = { id: row.id, at: row.at, kind: row.kind, data: JSON.parse(row.data) } as Event;
  if (row.host !== null) event.host = row.host;
  if (row.attempt !== null) event.attempt = row.attempt;
  return event;
}
