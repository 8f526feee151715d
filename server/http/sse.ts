import type { ServerResponse } from 'node:http';

/** Proxies and browsers give up on a silent connection. */
const HEARTBEAT_MS = 15_000;
/** A reader that falls this far behind is cut off; it comes back with Last-Event-ID and misses nothing. */
const MAX_BUFFERED_BYTES = 1024 * 1024;
/** So is one that takes nothing at all for this long while it is given what has been. */
const PATIENCE_MS = 30_000;

/** One reader of server-sent events, from the headers to the end. */
export interface SseReader {
  /** Nothing may be written after the end, and a slow reader keeps the response open long after it. */
  readonly isOver: boolean;
  /** No `event:` line: so a reader hears of everything, also of kinds that come with later versions. */
  send(id: number, value: unknown): void;
  /** Resolves when the reader has taken what it was sent, or is gone. */
  drained(): Promise<void>;
  fail(): void;
}

/** Begins the answer. `onLeave` is called once, when the reader goes or the server stops. */
export function openSse(response: ServerResponse, stopSignal: AbortSignal, onLeave: () => void): SseReader {
  let isOver = false;
  const leave = (): void => {
    if (isOver) return;
    isOver = true;
    clearInterval(heartbeat);
    stopSignal.removeEventListener('abort', end);
    onLeave();
  };
  const end = (): void => {
    leave();
    response.end();
  };

  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  response.write('retry: 1000\n\n');
  const heartbeat = setInterval(() => response.write(':\n\n'), HEARTBEAT_MS);
  response.on('close', leave);
  if (stopSignal.aborted) end();
  else stopSignal.addEventListener('abort', end);

  return {
    get isOver() {
      return isOver;
    },
    send(id, value) {
      if (isOver || response.destroyed) return;
      response.write(`id: ${id}\ndata: ${JSON.stringify(value)}\n\n`);
      if (response.writableLength > MAX_BUFFERED_BYTES) response.destroy();
    },
    drained: () => drained(response),
    fail: () => void response.destroy(),
  };
}

function drained(response: ServerResponse): Promise<void> {
  if (response.destroyed || !response.writableNeedDrain) return Promise.resolve();
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
