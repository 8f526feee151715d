/** So large that a slab serves many, and so small that one that is left over holds up little. */
const SLAB_BYTES = 1024 * 1024;

/**
 * Room for many things of some kilobytes that are kept for a while. Node makes a piece of memory of its own for each
 * of them otherwise, and the garbage collector, which has to keep account of every one, runs the more often for that.
 */
export class Slabs {
  #slab = Buffer.alloc(0);
  #used = 0;

  readonly allocate = (size: number): Buffer => {
    if (size > SLAB_BYTES / 8) return Buffer.allocUnsafe(size);
    if (this.#used + size > this.#slab.length) {
      this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
      this.#used = 0;
    }
    const start = this.#used;
    this.#used += size;
    return this.#slab.subarray(start, this.#used);
  };
}
