/** How long repeats of the same thing are only counted. */
const QUIET_MS = 60_000;
/** Beyond this many different things the oldest is forgotten. */
const MAX_KEYS = 5000;

/** Lets the first of many equal messages through and counts the rest: a card in a boot loop must not fill the log. */
export class Damper {
  readonly #seen = new Map<string, { until: number; repeats: number }>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** How often it was held back since it was last let through; `undefined` when it is to be held back now. */
  admit(key: string): number | undefined {
    const now = this.#now();
    const entry = this.#seen.get(key);
    if (entry !== undefined && now < entry.until) {
      entry.repeats++;
      return undefined;
    }
    this.#seen.delete(key);
    this.#seen.set(key, { until: now + QUIET_MS, repeats: 0 });
    if (this.#seen.size > MAX_KEYS) this.#seen.delete(this.#seen.keys().next().value!);
    return entry?.repeats ?? 0;
  }
}
