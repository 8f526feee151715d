import { lastEvents } from '../store/events.ts';
import type { Db } from '../store/store.ts';
import type { Event } from './kinds.ts';
import { type EventLog, toEvent } from './log.ts';

/** The newest event of each host: what a list of hosts shows, without a look through all events each time. */
export class LastEvents {
  readonly #byHost = new Map<string, Event>();

  /** Begins with what is in the store, and listens from then on. */
  async start(db: Db, events: EventLog): Promise<void> {
    events.subscribe((event) => this.#note(event));
    for (const row of await lastEvents(db)) {
      if (!this.#byHost.has(row.host!)) this.#note(toEvent(row));
    }
  }

  of(host: string): Event | undefined {
    return this.#byHost.get(host);
  }

  #note(event: Event): void {
    if (event.host !== undefined) this.#byHost.set(event.host, event);
  }
}
