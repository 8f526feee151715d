import { setTimeout as sleep } from 'node:timers/promises';

const INTERVAL_MS = 10;
/** Only ends what hangs: no test may depend on how fast the machine is. */
export const PATIENCE_MS = 60_000;

/**
 * Asks until the answer is neither `undefined` nor `false`, and returns it. What is thrown counts as "not yet";
 * the last of it is in the message when time is up.
 */
export async function until<T>(
  what: string,
  probe: () => T | Promise<T>,
  milliseconds = PATIENCE_MS,
): Promise<Exclude<T, false | undefined>> {
  const deadline = performance.now() + milliseconds;
  let last: unknown;
  do {
    try {
      const answer = await probe();
      if (answer !== undefined && answer !== false) return answer as Exclude<T, false | undefined>;
      last = answer;
    } catch (error) {
      last = error;
    }
    await sleep(INTERVAL_MS);
  } while (performance.now() < deadline);
  throw new Error(`waited ${milliseconds / 1000} s in vain until ${what} (last: ${last})`, { cause: last });
}
