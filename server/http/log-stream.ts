import type { ServerResponse } from 'node:http';
import type { LogBook } from '../pipeline/log-book.ts';

export interface LogStreamFilter {
  cluster: string;
  step?: string | undefined;
  /** Go on after this piece; without it, with the newest that are kept. */
  after?: number | undefined;
}

const PAGE = 200;
/** Proxies and browsers give up on a silent connection. */
const HEARTBEAT_MS = 15_000;
/** A reader that falls this far behind is cut off; it comes back with Last-Event-ID and misses nothing. */
const MAX_BUFFERED_BYTES = 1024 * 1024;

/** Sends the log of a pipeline as it grows (server-sent events). Always read from the store: no gap, no repeat. */
export function streamLog(
  logs: LogBook,
  { cluster, step, after }: LogStreamFilter,
  response: ServerResponse,
  stopSignal: AbortSignal,
): void {
  let sent = after;
  let isReading = false;
  let isMore = false;
  let isOver = false;

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
  const read = async (): Promise<void> => {
    isMore = true;
    if (isReading) return;
    isReading = true;
    while (isMore && !isOver) {
      isMore = false;
      const page = await logs.list({ cluster, step, after: sent, limit: PAGE });
      sent = page.at(-1)?.id ?? sent ?? 0;
      if (page.length === PAGE) isMore = true;
      for (const { id, at, step: name, text } of page) {
        if (isOver) return;
        const data = JSON.stringify({ id, at: new Date(at).toISOString(), step: name, text });
        response.write(`id: ${id}\ndata: ${data}\n\n`);
      }
      if (response.writableLength > MAX_BUFFERED_BYTES) response.destroy();
    }
    isReading = false;
  };

  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  response.write('retry: 1000\n\n');
  const follow = (): void => void read().catch(() => response.destroy());
  const unsubscribe = logs.subscribe((grown) => {
    if (grown === cluster) follow();
  });
  const heartbeat = setInterval(() => response.write(':\n\n'), HEARTBEAT_MS);
  response.on('close', leave);
  if (stopSignal.aborted) return end();
  stopSignal.addEventListener('abort', end);
  follow();
}
