/** How long repeats of the same thing are only counted. */
const QUIET_MS = 60_000;
/** How many different things one source may say in that time: one that tries every name would fill the log, too. */
const MAX_PER_SOURCE = 100;
/** All sources together, in that time: addresses are easily made up. */
const MAX_IN_ALL = 2000;
/** Beyond this many different things, or sources, the oldest is forgotten. */
const MAX_KEYS = 5000;

interface Spent {
  until: number;
  count: number;
}

/** Lets the first of many equal messages through and counts the rest: a card in a boot loop must not fill the log. */
export class Damper {
  readonly #seen = new Map<string, { until: number; repeats: number }>();
  readonly #bySource = new Map<string, Spent>();
  #inAll: Spent = { until: 0, count: 0 };
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** How often it was held back since it was last let through; `undefined` when it is to be held back now. */
  admit(source: string, what: string): number | undefined {
    const now = this.#now();
    const key = `${source} ${what}`;
    const entry = this.#seen.get(key);
    if (entry !== undefined && now < entry.until) {
      entry.repeats++;
      return undefined;
    }
    if (!this.#maySpeak(source, now)) {
      if (entry !== undefined) entry.repeats++;
      return undefined;
    }
    keepLast(this.#seen, key, { until: now + QUIET_MS, repeats: 0 });
    return entry?.repeats ?? 0;
  }

  #maySpeak(source: string, now: number): boolean {
    const fresh = { until: now + QUIET_MS, count: 0 };
    if (now >= this.#inAll.until) this.#inAll = { ...fresh };
    let its = this.#bySource.get(source);
    if (its === undefined || now >= its.until) {
      its = fresh;
      keepLast(this.#bySource, source, its);
    }
    if (its.count >= MAX_PER_SOURCE || this.#inAll.count >= MAX_IN_ALL) return false;
    its.count++;
    this.#inAll.count++;
    return true;
  }
}

function keepLast<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > MAX_KEYS) map.delete(map.keys().next().value!);
}
