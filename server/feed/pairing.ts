/** The two files that a client fetches together. */
export type Half = 'sums' | 'signature';

interface Waiting<S> {
  snapshot: S;
  lacks: Half;
  until: number;
}

/** systemd-pull asks for both at the same time; a slow network may hold up the second. */
const PAIR_MS = 30_000;
const MAX_CLIENTS = 20_000;

/**
 * Sees that a client gets sums and signature of the same moment, although it asks for them one by one and says nothing
 * that ties them together: when a version is published in between, the second half is still the one that fits the
 * first. Clients are told apart by their address and program; among those that can't be, the halves that were asked for
 * last belong together, since a client asks for both within a moment.
 */
export class Pairing<S> {
  readonly #now: () => number;
  /** By client and feed, in the order they came. */
  readonly #waiting = new Map<string, Waiting<S>[]>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The snapshot whose half this client gets. `current` is called only when there is nothing to go with. */
  async choose(client: string, half: Half, current: () => Promise<S>): Promise<S> {
    const begun = this.#take(client, half);
    if (begun !== undefined) return begun;
    const snapshot = await current();
    // Its other half may have been chosen while this one was made.
    const meanwhile = this.#take(client, half);
    if (meanwhile !== undefined) return meanwhile;
    this.#expect(client, { snapshot, lacks: half === 'sums' ? 'signature' : 'sums' });
    return snapshot;
  }

  #take(client: string, half: Half): S | undefined {
    const all = this.#fresh(client);
    const index = all.findLastIndex(({ lacks }) => lacks === half);
    if (index === -1) return undefined;
    const [found] = all.splice(index, 1);
    if (all.length === 0) this.#waiting.delete(client);
    return found?.snapshot;
  }

  #expect(client: string, { snapshot, lacks }: Omit<Waiting<S>, 'until'>): void {
    const all = this.#fresh(client);
    all.push({ snapshot, lacks, until: this.#now() + PAIR_MS });
    // Moved to the end: the first is the one that was silent for longest.
    this.#waiting.delete(client);
    this.#waiting.set(client, all.slice(-100));
    if (this.#waiting.size > MAX_CLIENTS) this.#waiting.delete(this.#waiting.keys().next().value!);
  }

  #fresh(client: string): Waiting<S>[] {
    const all = this.#waiting.get(client)?.filter(({ until }) => until > this.#now()) ?? [];
    if (all.length > 0) this.#waiting.set(client, all);
    else this.#waiting.delete(client);
    return all;
  }
}
