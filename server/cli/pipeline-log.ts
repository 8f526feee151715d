import { RailheadError } from '../errors.ts';
import type { Client } from './client.ts';
import { readEventStream } from './read-event-stream.ts';

/** A piece of a log: whole lines. */
export interface LogPiece {
  id: number;
  at: string;
  step: string;
  text: string;
}

export interface FollowOptions {
  /** Looked for every time: a server that was told to take any free port comes back on another one. */
  connect: () => Promise<Client>;
  path: string;
  query: URLSearchParams;
  /** The last piece that was shown. */
  after: number;
  show: (piece: LogPiece) => unknown;
  say: (text: string) => void;
  /** Asked now and then. */
  isOver: () => Promise<boolean>;
}

const ASK_MS = 500;
/** What was said last may be on its way when it is over. */
const LAST_WORDS_MS = 300;
const RETRY_MS = 1000;

/** Shows a log as it grows. A server that restarts is found again, and nothing in between is missed. */
export async function followLog(options: FollowOptions): Promise<void> {
  const { path, query, show, say } = options;
  let { after } = options;
  let said = '';
  for (let isOver = false; !isOver; ) {
    try {
      query.set('after', String(after));
      const response = await (await options.connect()).stream(`${path}?${query}`);
      const asking = askUntilOver(options.isOver, () => {
        isOver = true;
        response.destroy();
      });
      try {
        for await (const piece of readEventStream<LogPiece>(response)) {
          after = piece.id;
          said = '';
          show(piece);
        }
      } catch (error) {
        if (!isOver) throw error;
      } finally {
        asking.stop();
      }
      if (isOver) return;
    } catch (error) {
      if (!(error instanceof Error) || (error instanceof RailheadError && error.status < 500)) throw error;
      if (said !== error.message) say(`${error.message} Trying again …`);
      said = error.message;
    }
    if (!isOver) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

function askUntilOver(isOver: () => Promise<boolean>, onOver: () => void): { stop: () => void } {
  let isStopped = false;
  const ask = async (): Promise<void> => {
    while (!isStopped) {
      await new Promise((resolve) => setTimeout(resolve, ASK_MS));
      if (!isStopped && (await isOver())) {
        await new Promise((resolve) => setTimeout(resolve, LAST_WORDS_MS));
        isStopped = true;
        onOver();
      }
    }
  };
  // A server that is gone is the stream's to notice.
  void ask().catch(() => {});
  return {
    stop: () => {
      isStopped = true;
    },
  };
}
