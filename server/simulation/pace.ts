import { setTimeout as sleep } from 'node:timers/promises';

/** However fast a simulation is, who was refused does not ask again sooner than this. */
const LEAST_RETRY_MS = 250;

export interface PaceOptions {
  /** How many times faster than real machines; `Infinity` for no pauses at all. */
  speed: number;
  random: () => number;
  signal: AbortSignal;
}

/** How long a machine takes for what it does on its own. No two take the same time. */
export class Pace {
  readonly #options: PaceOptions;

  constructor(options: PaceOptions) {
    this.#options = options;
  }

  /** So many seconds of a real machine's time. */
  async pause(seconds: number): Promise<void> {
    const { signal } = this.#options;
    const milliseconds = this.#scaled(seconds);
    if (milliseconds >= 1) await sleep(milliseconds, undefined, { signal });
    signal.throwIfAborted();
  }

  /** The same before something is asked for again. */
  async pauseBeforeRetry(seconds: number): Promise<void> {
    const least = LEAST_RETRY_MS * (1 + this.#options.random());
    await sleep(Math.max(least, this.#scaled(seconds)), undefined, { signal: this.#options.signal });
  }

  #scaled(seconds: number): number {
    const { speed, random } = this.#options;
    return (seconds * 1000 * (0.7 + 0.6 * random())) / speed;
  }
}
