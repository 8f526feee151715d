import type { ServerResponse } from 'node:http';
import type { LogBook } from '../pipeline/log-book.ts';
import { openSse } from './sse.ts';

export interface LogStreamFilter {
  cluster: string;
  step?: string | undefined;
  /** Go on after this piece; without it, with the newest that are kept. */
  after?: number | undefined;
}

const PAGE = 200;

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

  const read = async (): Promise<void> => {
    isMore = true;
    if (isReading) return;
    isReading = true;
    while (isMore && !reader.isOver) {
      isMore = false;
      const page = await logs.list({ cluster, step, after: sent, limit: PAGE });
      sent = page.at(-1)?.id ?? sent ?? 0;
      if (page.length === PAGE) isMore = true;
      for (const { id, at, step: name, text } of page) {
        reader.send(id, { id, at: new Date(at).toISOString(), step: name, text });
        await reader.drained();
      }
    }
    isReading = false;
  };
  const follow = (): void => void read().catch(() => reader.fail());

  const unsubscribe = logs.subscribe((grown) => {
    if (grown === cluster) follow();
  });
  const reader = openSse(response, stopSignal, () => unsubscribe());
  follow();
}
