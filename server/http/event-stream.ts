import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Event } from '../events/kinds.ts';
import type { EventLog } from '../events/log.ts';
import { openSse } from './sse.ts';

export interface StreamFilter {
  /** Start after this event; without it, with the next one. */
  after?: number | undefined;
  host?: string | undefined;
  kind?: string | undefined;
}

const PAGE = 500;

/** Sends events as they happen (server-sent events), first those since `after`, without a gap or a repeat between. */
export function streamEvents(
  log: EventLog,
  filter: StreamFilter,
  response: ServerResponse,
  stopSignal: AbortSignal,
): void {
  let sent = filter.after ?? 0;
  let isLive = filter.after === undefined;
  /** Something happened since the log was last looked at. Only that, not what: a slow reader costs no memory. */
  let happened = false;

  const matches = (event: Event): boolean =>
    (filter.host === undefined || event.host === filter.host) &&
    (filter.kind === undefined || event.kind === filter.kind);
  const send = (event: Event): void => {
    if (event.id <= sent) return;
    sent = event.id;
    reader.send(event.id, event);
  };

  const unsubscribe = log.subscribe((event) => {
    if (!matches(event)) return;
    if (isLive) send(event);
    else happened = true;
  });
  const reader = openSse(response, stopSignal, () => unsubscribe());

  const catchUp = async (): Promise<void> => {
    while (!isLive) {
      happened = false;
      const page = await log.list({ ...filter, after: sent, limit: PAGE });
      for (const event of page) {
        if (reader.isOver) return;
        send(event);
        await reader.drained();
      }
      // SQLite answers at once: without this, a long log would be read in one turn and hold everybody up.
      await nextTurn();
      if (reader.isOver) return;
      isLive = page.length < PAGE && !happened;
    }
  };
  catchUp().catch(() => reader.fail());
}
