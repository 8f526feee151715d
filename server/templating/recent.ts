/**
 * Remembers what was used lately, up to a size. In two generations: what is asked for moves to the young one, and when
 * that has half of the room the old one is dropped whole. A hit costs one look-up, where a list in the order of use
 * would have to be changed at every hit, which took longer than what was looked up for.
 */
export class Recent<V extends object | null> {
  readonly #half: number;
  readonly #sizeOf: (key: string, value: V) => number;
  #young = new Map<string, V>();
  #old = new Map<string, V>();
  #youngSize = 0;

  constructor(maxSize: number, sizeOf: (key: string, value: V) => number = () => 1) {
    this.#half = maxSize / 2;
    this.#sizeOf = sizeOf;
  }

  get(key: string): V | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.keep(key, old);
    return old;
  }

  /** One that is larger than half of the room is not kept. */
  keep(key: string, value: V): void {
    const size = this.#sizeOf(key, value);
    if (size > this.#half) return;
    if (this.#youngSize + size > this.#half) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#youngSize = 0;
    }
    this.#young.set(key, value);
    this.#youngSize += size;
  }
}
