import { createHash, hash } from 'node:crypto';
import { Gate } from './gate.ts';
import { hashInThread } from './hash-in-thread.ts';
import type { OpenFile } from './open-files.ts';
import { SLICE_BYTES, type SlicePool } from './slice-pool.ts';

/** Hashes that are kept; one takes about 200 bytes. */
const MAX_KNOWN = 4096;

/**
 * Strong ETags. The one that is wanted is the SHA-256 of the content: it outlives restarts, copies and restored
 * backups. A large file takes a moment to hash, and nobody waits for that: until it is known, the tag is made of what
 * tells one version of a file from the next (device, inode, size, mtime, ctime). It is strong, too: whatever writes to
 * a file changes these. Both name the same bytes, so a client may come back with either and is understood.
 */
export class Etags {
  readonly #pool: SlicePool;
  readonly #stopping = new AbortController();
  readonly #gate = new Gate(1);
  /** By identity, in the order they came. */
  readonly #known = new Map<string, string>();
  readonly #underWay = new Map<string, Promise<void>>();

  constructor(pool: SlicePool) {
    this.#pool = pool;
  }

  /** All that name this file now, the best one first. */
  async of(file: OpenFile): Promise<string[]> {
    const { key, size } = file.identity;
    const provisional = `"v-${hash('sha256', key).slice(0, 32)}"`;
    if (!this.#known.has(key) && size <= SLICE_BYTES) await this.#hashNow(file);
    const sha256 = this.#known.get(key);
    if (sha256 !== undefined) return [`"${sha256}"`, provisional];
    this.#hashLater(file);
    return [provisional];
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('stopping'));
    await Promise.all(this.#underWay.values());
  }

  /** What fits into one slice takes a millisecond, and is wanted in memory anyway. */
  async #hashNow(file: OpenFile): Promise<void> {
    if (file.identity.size === 0) return this.#remember(file, createHash('sha256').digest('hex'));
    const slice = this.#pool.take(file, 0);
    if (slice === undefined) return;
    try {
      await slice.ready;
      this.#remember(file, hash('sha256', slice.bytes));
    } finally {
      this.#pool.release(slice);
    }
  }

  #hashLater(file: OpenFile): void {
    const { key, size } = file.identity;
    if (this.#underWay.has(key) || this.#stopping.signal.aborted) return;
    file.hold();
    const work = this.#gate
      .run(async () => {
        const sha256 = await hashInThread(file.fd, size, this.#stopping.signal);
        if (sha256 !== undefined && (await file.isUnchanged())) this.#remember(file, sha256);
      })
      // Without it there is still the other tag, and the next request tries again. Readers hear of a disk that fails.
      .catch(() => {})
      .finally(() => {
        this.#underWay.delete(key);
        file.release();
      });
    this.#underWay.set(key, work);
  }

  #remember(file: OpenFile, sha256: string): void {
    if (this.#known.size >= MAX_KNOWN) this.#known.delete(this.#known.keys().next().value!);
    this.#known.set(file.identity.key, sha256);
  }
}
