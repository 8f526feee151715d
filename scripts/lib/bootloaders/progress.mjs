// Says now and then how far downloads are.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const TICK_MS = 10_000;

export class Progress {
  #log;
  /** @type {Map<string, { since: number, bytes: number }>} what was said last of each download */
  #said = new Map();

  /** @param {(line: string) => void} log */
  constructor(log) {
    this.#log = log;
  }

  /**
   * Numbers only grow: apt unpacks, moves and deletes what it has fetched, and after a failure it starts over or asks
   * another mirror, but nobody's download runs backwards.
   *
   * @param {string} what
   * @param {string} folder where it arrives
   * @returns {() => void} ends it
   */
  watch(what, folder) {
    const said = this.#said.get(what) ?? { since: performance.now(), bytes: 0 };
    this.#said.set(what, said);
    const timer = setInterval(() => {
      said.bytes = Math.max(said.bytes, sizeOf(folder));
      const seconds = Math.round((performance.now() - said.since) / 1000);
      this.#log(`… ${what}: ${seconds} s, ${megabytes(said.bytes)} so far`);
    }, TICK_MS);
    return () => clearInterval(timer);
  }
}

/** @param {number} bytes */
export function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** @param {string} folder */
function sizeOf(folder) {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0)
      .reduce((sum, size) => sum + size, 0);
  } catch {
    return 0; // it is being moved about
  }
}
