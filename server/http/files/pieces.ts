import { setImmediate as nextTurn } from 'node:timers/promises';
import type { OpenFile } from './open-files.ts';
import { SLICE_BYTES, type SlicePool } from './slice-pool.ts';

/** What goes to a socket at once: large enough to be cheap, small enough to count the progress of a slow client. */
export const PIECE_BYTES = 256 * 1024;

/** For a reader that finds no room in the pool: so little that hundreds of them do no harm. */
const OWN_BYTES = 128 * 1024;

/**
 * The bytes from `start` to `end`, both included, in order. A piece is good until the next one is asked for. However it
 * ends, also by `return()`, nothing stays pinned.
 */
export async function* piecesOf(
  file: OpenFile,
  start: number,
  end: number,
  pool: SlicePool,
): AsyncGenerator<Buffer, void, void> {
  let own: Buffer | undefined;
  for (let at = start; at <= end; ) {
    const index = Math.floor(at / SLICE_BYTES);
    const slice = pool.take(file, index);
    if (slice === undefined) {
      own ??= Buffer.allocUnsafeSlow(OWN_BYTES);
      const bytes = own.subarray(0, Math.min(OWN_BYTES, end + 1 - at));
      await pool.readInto(bytes, file, at);
      yield bytes;
      at += bytes.length;
      continue;
    }
    try {
      await slice.ready;
      const base = index * SLICE_BYTES;
      const stop = Math.min(end + 1, base + slice.bytes.length);
      while (at < stop) {
        const to = Math.min(at + PIECE_BYTES, stop);
        // The disk works while the client takes the second half; earlier would be memory for slow clients.
        if (stop <= end && to - base > SLICE_BYTES / 2) pool.warm(file, index + 1);
        yield slice.bytes.subarray(at - base, to - base);
        at = to;
      }
    } finally {
      pool.release(slice);
    }
    // A client that takes everything at once must not keep the others waiting until it has it all.
    await nextTurn();
  }
}
