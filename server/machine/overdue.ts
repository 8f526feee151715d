import type { EventLog } from '../events/log.ts';
import { openAttempts, updateAttempt } from '../store/attempts.ts';
import type { Store } from '../store/store.ts';
import { shortId } from './attempts.ts';
import { waitingOf } from './observe.ts';

const LOOK_EVERY_MS = 10_000;

/** Tells once of every boot that has been silent for longer than it should: nobody can watch all pages. */
export class OverdueWatch {
  readonly #options: { store: Store; events: EventLog; now: () => number; onFault: (error: unknown) => void };
  #timer: NodeJS.Timeout | undefined;

  constructor(options: {
    store: Store;
    events: EventLog;
    now: () => number;
    onFault: (error: unknown) => void;
  }) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => void this.look().catch(this.#options.onFault), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async look(): Promise<void> {
    const { store, events, now: clock } = this.#options;
    const now = clock();
    for (const attempt of await openAttempts(store.db)) {
      const waiting = waitingOf(attempt, now);
      if (attempt.overdue_at !== null || waiting === null || !waiting.isLate) continue;
      await events.transact(async (db) => {
        await updateAttempt(db, attempt.token, { overdue_at: now });
        const { stage, for: what, seconds } = waiting;
        const data = { stage, waitingFor: what, seconds };
        return [{ kind: 'boot.overdue', host: attempt.host, attempt: shortId(attempt.token), data }];
      });
    }
  }
}
