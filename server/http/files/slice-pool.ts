import { Gate } from './gate.ts';
import type { OpenFile } from './open-files.ts';

export const SLICE_BYTES = 1024 * 1024;

/** Below this, readers of one file at the same time would not find what the others have just read. */
const MIN_BYTES = 16 * SLICE_BYTES;

/**
 * Node has four threads for files, names and the like: a slow disk must not take them all. Two reads at once are
 * enough to keep a disk busy.
 */
const MAX_READS = 3;

/** A part of a file in memory. Its bytes may be used when `ready` is fulfilled, and until it is released. */
export interface Slice {
  readonly key: string;
  readonly bytes: Buffer;
  ready: Promise<void>;
  pins: number;
}

/**
 * Slices of files in memory, for all readers together, within a limit. Who uses a slice pins it; what nobody has pinned
 * goes, the one that was not wanted for longest first, and its memory is used again. A slice that is being read is
 * there already: others who want it wait for the same read.
 */
export class SlicePool {
  readonly #limit: number;
  readonly #gate = new Gate(MAX_READS);
  /** In the order of use. */
  readonly #slices = new Map<string, Slice>();
  #bytes = 0;

  constructor(cacheBytes: number) {
    this.#limit = Math.max(cacheBytes, MIN_BYTES);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Undefined when every slice is in use and there is no room for more: `readInto` a buffer of your own then. */
  take(file: OpenFile, index: number): Slice | undefined {
    const key = `${file.identity.key}/${index}`;
    const slice = this.#slices.get(key) ?? this.#load(file, index, key);
    if (slice === undefined) return undefined;
    slice.pins++;
    this.#slices.delete(key);
    this.#slices.set(key, slice);
    return slice;
  }

  /** Has a slice read, if there is room, for somebody who will want it soon. */
  warm(file: OpenFile, index: number): void {
    const key = `${file.identity.key}/${index}`;
    if (!this.#slices.has(key)) this.#load(file, index, key);
  }

  release(slice: Slice): void {
    slice.pins--;
  }

  readInto(bytes: Buffer, file: OpenFile, position: number): Promise<void> {
    return this.#gate.run(() => file.read(bytes, position));
  }

  clear(): void {
    this.#slices.clear();
    this.#bytes = 0;
  }

  #load(file: OpenFile, index: number, key: string): Slice | undefined {
    const position = index * SLICE_BYTES;
    const bytes = this.#room(Math.min(SLICE_BYTES, file.identity.size - position));
    if (bytes === undefined) return undefined;
    // The read itself has the slice pinned and the file open: those who asked for it may all be gone before it ends.
    file.hold();
    const ready = this.readInto(bytes, file, position).finally(() => {
      slice.pins--;
      file.release();
    });
    const slice: Slice = { key, bytes, ready, pins: 1 };
    this.#slices.set(key, slice);
    // Also so that a failure that nobody waits for is none of the process.
    ready.catch(() => this.#drop(slice));
    return slice;
  }

  /** Memory for a new slice: that of the oldest one, when it fits. */
  #room(length: number): Buffer | undefined {
    let spare: Buffer | undefined;
    if (this.#bytes + length > this.#limit) {
      for (const slice of this.#slices.values()) {
        if (slice.pins > 0) continue;
        this.#drop(slice);
        if (slice.bytes.length === length) spare = slice.bytes;
        if (this.#bytes + length <= this.#limit) break;
      }
      if (this.#bytes + length > this.#limit) return undefined;
    }
    this.#bytes += length;
    return spare ?? Buffer.allocUnsafeSlow(length);
  }

  #drop(slice: Slice): void {
    if (this.#slices.get(slice.key) !== slice) return;
    this.#slices.delete(slice.key);
    this.#bytes -= slice.bytes.length;
  }
}
