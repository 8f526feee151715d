/** Heartbeats that all hosts together send, at most. */
const HEARTBEATS_PER_SECOND = 100;
const SHORTEST_INTERVAL_SECONDS = 10;
/** Missing this many heartbeats, a machine has stopped. */
const MISSED_HEARTBEATS = 3;
/** How often "last seen" is stored: it is for people, and to survive a restart. */
const STORE_EVERY_MS = 30_000;

/**
 * Which machines were heard of, and when. In memory and by a clock that nobody sets: thousands of heartbeats must not
 * become as many writes, and a wrong clock must make no machine silent.
 */
export class Liveness {
  readonly #clock: () => number;
  readonly #startedAt: number;
  readonly #heard = new Map<number, { at: number; storedAt: number }>();
  readonly #hosts: () => number;

  /** `clock` counts milliseconds and never jumps; `hosts` is how many there are. */
  constructor({ clock, hosts }: { clock: () => number; hosts: () => number }) {
    this.#clock = clock;
    this.#hosts = hosts;
    this.#startedAt = clock();
  }

  /** Seconds between two heartbeats of a machine. */
  get intervalSeconds(): number {
    return Math.max(SHORTEST_INTERVAL_SECONDS, Math.ceil(this.#hosts() / HEARTBEATS_PER_SECOND));
  }

  /** How long a machine is silent until it has stopped. */
  get silenceMs(): number {
    return this.intervalSeconds * MISSED_HEARTBEATS * 1000;
  }

  /** It spoke. Returns whether that is worth storing. */
  heard(machine: number): boolean {
    const now = this.#clock();
    const before = this.#heard.get(machine);
    const isDue = before === undefined || now - before.storedAt >= STORE_EVERY_MS;
    this.#heard.set(machine, { at: now, storedAt: isDue ? now : before.storedAt });
    return isDue;
  }

  /** Since it was last heard of, or since this server started: what was said before that nobody heard. */
  silentMs(machine: number): number {
    return this.#clock() - (this.#heard.get(machine)?.at ?? this.#startedAt);
  }

  /** Whether it was heard of by this server, and recently. */
  isAlive(machine: number): boolean {
    return this.#heard.has(machine) && this.silentMs(machine) < this.silenceMs;
  }

  /** At most as long as this server runs: a clock that was set must not make anything old. */
  ageOf(at: number, now: number): number {
    return Math.min(Math.abs(now - at), this.#clock() - this.#startedAt);
  }
}
