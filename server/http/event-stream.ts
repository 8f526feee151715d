import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Event } from '../events/kinds.ts';
import type { EventLog } from '../events/log.ts';

export interface StreamFilter {
  /** Start after this event; without it, with the next one. */
  after?: number | undefined;
  host?: string | undefined;
  kind?: string | undefined;
}

const PAGE = 500;
/** Proxies and browsers give up on a silent connection. */
const HEARTBEAT_MS = 15_000;
/** A reader that falls this far behind is cut off; it comes back with Last-Event-ID and misses nothing. */
const MAX_BUFFERED_BYTES = 1024 * 1024;
/** So is one that takes nothing at all for this long while it is given what has been. */
const PATIENCE_MS = 30_000;

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
    if (event.id <= sent || response.destroyed) return;
    sent = event.id;
    // No `event:` line: so a reader hears of every kind, also of those that come with later versions.
    response.write(`id: ${event.id}\ndata: ${JSON.stringify(event)}\n\n`);
    if (response.writableLength > MAX_BUFFERED_BYTES) response.destroy();
  };

  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  response.write('retry: 1000\n\n');
  const unsubscribe = log.subscribe((event) => {
    if (!matches(event)) return;
    if (isLive) send(event);
    else happened = true;
  });
  const heartbeat = setInterval(() => response.write(':\n\n'), HEARTBEAT_MS);
  let isOver = false;
  /** Nothing may be written after the end, and a slow reader keeps the response open long after it. */
  const leave = (): void => {
    isOver = true;
    unsubscribe();
    clearInterval(heartbeat);
    stopSignal.removeEventListener('abort', end);
  };
  const end = (): void => {
    leave();
    response.end();
  };
  response.on('close', leave);
  if (stopSignal.aborted) return end();
  stopSignal.addEventListener('abort', end);

  const catchUp = async (): Promise<void> => {
    while (!isLive) {
      happened = false;
      const page = await log.list({ ...filter, after: sent, limit: PAGE });
      for (const event of page) {
        if (isOver) return;
        send(event);
        if (response.writableNeedDrain) await drained(response);
      }
      // SQLite answers at once: without this, a long log would be read in one turn and hold everybody up.
      await nextTurn();
      if (isOver) return;
      isLive = page.length < PAGE && !happened;
    }
  };
  catchUp().catch(() => response.destroy());
}

/** Resolves when the reader has taken what it was sent, or is gone. */
function drained(response: ServerResponse): Promise<void> {
  if (response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const patience = setTimeout(() => response.destroy(), PATIENCE_MS);
    const done = (): void => {
      clearTimeout(patience);
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}
