/** So many are remembered; the oldest is forgotten, and is due again. */
const MAX_KEYS = 10_000;

/**
 * Whether something is to be stored again: only now and then for each thing, whatever else goes on. Unlike a limit for
 * log lines it has no budget that others can use up.
 */
export class Due {
  readonly #clock: () => number;
  readonly #everyMs: number;
  readonly #last = new Map<string, number>();

  constructor({ clock, everyMs }: { clock: () => number; everyMs: number }) {
    this.#clock = clock;
    this.#everyMs = everyMs;
  }

  isDue(key: string): boolean {
    const now = this.#clock();
    const last = this.#last.get(key);
    if (last !== undefined && now - last < this.#everyMs) return false;
    this.#last.delete(key);
    this.#last.set(key, now);
    if (this.#last.size > MAX_KEYS) this.#last.delete(this.#last.keys().next().value!);
    return true;
  }
}
