import type { ServerResponse } from 'node:http';
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

/** Sends events as they happen (server-sent events), first those since `after`, without a gap or a repeat between. */
export function streamEvents(
  log: EventLog,
  filter: StreamFilter,
  response: ServerResponse,
  stopSignal: AbortSignal,
): void {
  let sent = filter.after ?? 0;
  let waiting: Event[] | undefined = [];

  const matches = (event: Event): boolean =>
    (filter.host === undefined || event.host === filter.host) &&
    (filter.kind === undefined || event.kind === filter.kind);
  const send = (event: Event): void => {
    if (event.id <= sent || !matches(event)) return;
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
    if (waiting === undefined) send(event);
    else waiting.push(event);
  });
  const heartbeat = setInterval(() => response.write(':\n\n'), HEARTBEAT_MS);
  const end = (): void => void response.end();
  stopSignal.addEventListener('abort', end, { once: true });
  response.on('close', () => {
    unsubscribe();
    stopSignal.removeEventListener('abort', end);
    clearInterval(heartbeat);
  });

  const catchUp = async (): Promise<void> => {
    if (filter.after !== undefined) {
      let page: Event[];
      do {
        page = await log.list({ ...filter, after: sent, limit: PAGE });
        for (const event of page) send(event);
      } while (page.length === PAGE && !response.destroyed);
    }
    for (const event of waiting ?? []) send(event);
    waiting = undefined;
  };
  catchUp().catch(() => response.destroy());
}
