import type { Skeleton } from './skeleton.ts';

const MAX_ENTRIES = 256;
const MAX_CHARACTERS = 16 * 1024 * 1024;

/**
 * Hosts that differ only in values render to the same text with holes, and parsing YAML is the dear part of rendering.
 * So parsed text is kept, the least recently used going first.
 */
export class SkeletonCache {
  readonly #kept = new Map<string, Skeleton>();
  #characters = 0;

  get(written: string): Skeleton | undefined {
    const found = this.#kept.get(written);
    if (found === undefined) return undefined;
    this.#kept.delete(written);
    this.#kept.set(written, found);
    return found;
  }

  keep(written: string, skeleton: Skeleton): void {
    if (written.length > MAX_CHARACTERS / 4) return;
    this.#kept.set(written, skeleton);
    this.#characters += written.length;
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_ENTRIES && this.#characters <= MAX_CHARACTERS) break;
      this.#kept.delete(oldest);
      this.#characters -= oldest.length;
    }
  }
}
