import type { Pace } from './pace.ts';

/** Something failed that may go well the next time. */
export class Trouble extends Error {}

/** This boot is over; the machine starts anew. */
export class BootOver extends Error {}

/** The machine can't go on, and would not the next time. */
export class Fault extends Error {}

/** A server that is restarted is back by then. */
const PATIENCE_MS = 120_000;

export interface PersistOptions {
  pace: Pace;
  /** Between two tries, in a real machine's time. */
  seconds: number;
  onRetry: (reason: string) => void;
}

/** Tries again as long as there is trouble, and for so long. */
export async function persist<T>(
  what: string,
  attempt: () => Promise<T>,
  { pace, seconds, onRetry }: PersistOptions,
): Promise<T> {
  const since = performance.now();
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Trouble)) throw error;
      if (performance.now() - since > PATIENCE_MS) throw new Fault(`${what}: ${error.message}`);
      onRetry(error.message);
    }
    await pace.pauseBeforeRetry(seconds);
  }
}
