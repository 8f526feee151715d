import type { ControlledTransaction } from 'kysely';
import {
  type EventQuery,
  type EventRow,
  insertEvents,
  listEvents,
  PRUNE_BATCH,
  pruneEvents,
} from '../store/events.ts';
import type { Database } from '../store/schema.ts';
import type { Db, Store } from '../store/store.ts';
import type { Event, NewEvent } from './kinds.ts';

export interface EventLogOptions {
  store: Store;
  now: () => number;
  /** How many events are kept, and for how long. */
  keepCount: number;
  keepDays: number;
}

export type Change = (db: Db) => Promise<NewEvent[]>;

/** What waits for the next commit: a change that has events, or events alone. */
interface Work {
  change: Change | NewEvent[];
  resolve: (events: Event[]) => void;
  reject: (error: unknown) => void;
}

/** How the works of one commit have ended, in their order. */
type Outcome = { events: Event[] } | { error: unknown };

export type Listener = (event: Event) => void;

const DAY = 86_400_000;
const PRUNE_EVERY_MS = 60_000;
/** So that readers never wait long for a commit to end. */
const MAX_WORKS_A_COMMIT = 200;

/**
 * The append-only log that every part speaks through. An append or a change is acknowledged when it is committed;
 * those that come close together share one commit, since it is the commit that costs. Listeners hear of an event
 * after its commit, in the order of ids.
 */
export class EventLog {
  readonly #options: EventLogOptions;
  readonly #listeners = new Set<Listener>();
  #queue: Work[] = [];
  #committing: Promise<void> | undefined;
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
    while (this.#committing !== undefined) await this.#committing;
  }

  /** The last write failed with this; `undefined` when it went well. */
  get fault(): unknown {
    return this.#fault;
  }

  async append(event: NewEvent): Promise<Event> {
    return (await this.#enqueue([event]))[0]!;
  }

  /** Commits a change and the events that tell of it together: neither is ever there without the other. */
  transact(change: Change): Promise<Event[]> {
    return this.#enqueue(change);
  }

  async list(query: EventQuery): Promise<Event[]> {
    return (await listEvents(this.#options.store.db, query)).map(toEvent);
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

  #enqueue(change: Change | NewEvent[]): Promise<Event[]> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ change, resolve, reject });
      this.#committing ??= this.#commitAll();
    });
  }

  /** One commit after another, as long as there is something to do. */
  async #commitAll(): Promise<void> {
    // What else comes in this turn of the loop is to be in the same commit.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#queue.length > 0) {
      const works = this.#queue.splice(0, MAX_WORKS_A_COMMIT);
      try {
        const outcomes = await this.#commit(works);
        this.#fault = undefined;
        works.forEach((work, index) => {
          this.#conclude(work, outcomes[index]!);
        });
      } catch (error) {
        this.#fault = error;
        for (const { reject } of works) reject(error);
      }
    }
    this.#committing = undefined;
  }

  #conclude({ resolve, reject }: Work, outcome: Outcome): void {
    if ('error' in outcome) return reject(outcome.error);
    for (const event of outcome.events) for (const listener of this.#listeners) listener(event);
    resolve(outcome.events);
  }

  async #commit(works: readonly Work[]): Promise<Outcome[]> {
    const transaction = await this.#options.store.db.startTransaction().execute();
    try {
      const outcomes: Outcome[] = [];
      for (let next = 0; next < works.length; ) {
        const { change } = works[next]!;
        if (typeof change === 'function') {
          outcomes.push(await this.#apply(transaction, change));
          next++;
          continue;
        }
        // Events alone go in one statement.
        const end = works.findIndex((work, index) => index > next && typeof work.change === 'function');
        const together = works.slice(next, end === -1 ? works.length : end);
        const events = await this.#insert(
          transaction,
          together.flatMap((work) => work.change as NewEvent[]),
        );
        outcomes.push(...events.map((event) => ({ events: [event] })));
        next += together.length;
      }
      await transaction.commit().execute();
      return outcomes;
    } catch (error) {
      await transaction.rollback().execute();
      throw error;
    }
  }

  /** A change that fails takes back what it did, and nothing of the others in the same commit. */
  async #apply(transaction: ControlledTransaction<Database>, change: Change): Promise<Outcome> {
    const savepoint = await transaction.savepoint('change').execute();
    let events: NewEvent[];
    try {
      events = await change(savepoint);
    } catch (error) {
      // When the store itself has failed (a full disk), there is no point left to go back to, and all is taken back.
      await savepoint
        .rollbackToSavepoint('change')
        .execute()
        .catch(() => {
          throw error;
        });
      return { error };
    }
    const inserted = await this.#insert(savepoint, events);
    await savepoint.releaseSavepoint('change').execute();
    return { events: inserted };
  }

  async #insert(db: Db, events: readonly NewEvent[]): Promise<Event[]> {
    if (events.length === 0) return [];
    const at = this.#options.now();
    const rows = events.map(({ kind, host, attempt, data }) => ({
      at,
      kind,
      host: host ?? null,
      attempt: attempt ?? null,
      data: JSON.stringify(data),
    }));
    return (await insertEvents(db, rows)).map(toEvent);
  }
}

export function toEvent(row: EventRow): Event {
  const event = { id: row.id, at: row.at, kind: row.kind, data: JSON.parse(row.data) } as Event;
  if (row.host !== null) event.host = row.host;
  if (row.attempt !== null) event.attempt = row.attempt;
  return event;
}
