/** How fast something goes, over the last seconds, and when it will be done. */
export class Meter {
  readonly #now: () => number;
  readonly #marks: { at: number; bytes: number }[] = [];
  #bytes = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** So many more bytes. */
  count(bytes: number): void {
    this.#bytes += bytes;
    const at = this.#now();
    const last = this.#marks.at(-1);
    if (last === undefined || at - last.at >= MARK_MS) this.#marks.push({ at, bytes: this.#bytes });
    while (this.#marks.length > 2 && at - this.#marks[0]!.at > WINDOW_MS) this.#marks.shift();
  }

  /** Bytes a second; 0 when nothing came lately. */
  get rate(): number {
    const first = this.#marks[0];
    const now = this.#now();
    if (first === undefined || now - first.at > 2 * WINDOW_MS || now <= first.at) return 0;
    return ((this.#bytes - first.bytes) / (now - first.at)) * 1000;
  }

  /** Seconds until this many more bytes are there, if that can be said. */
  eta(left: number): number | undefined {
    const { rate } = this;
    return rate > 0 ? Math.ceil(left / rate) : undefined;
  }
}

const WINDOW_MS = 5000;
const MARK_MS = 200;
