import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { OpenFile } from '../../../server/http/files/open-files.ts';
import { piecesOf } from '../../../server/http/files/pieces.ts';
import { SLICE_BYTES, SlicePool } from '../../../server/http/files/slice-pool.ts';

/** A file whose every slice is full of its own number. */
function fakeFile(slices: number, { fails = false } = {}) {
  const reads: number[] = [];
  let atOnce = 0;
  let most = 0;
  let holders = 1;
  const file = {
    identity: { key: 'fake', size: slices * SLICE_BYTES, modifiedAt: 0, modifiedNs: 0n },
    hold: () => void holders++,
    release: () => void holders--,
    read: async (into: Buffer, position: number) => {
      reads.push(position);
      most = Math.max(most, ++atOnce);
      await sleep(2);
      atOnce--;
      if (fails) throw new Error('the disk is on fire');
      into.fill(Math.floor(position / SLICE_BYTES));
    },
  };
  const stats = { reads, mostAtOnce: () => most, holders: () => holders };
  return { file: file as unknown as OpenFile, ...stats };
}

it('reads a slice once for all who want it, and at most three at a time', async () => {
  const { file, reads, mostAtOnce, holders } = fakeFile(16);
  const pool = new SlicePool(0);
  const slices = Array.from({ length: 160 }, (_, n) => pool.take(file, n % 16)!);
  await Promise.all(slices.map(({ ready }) => ready));
  expect(reads).toHaveLength(16);
  expect(mostAtOnce()).toBe(3);
  expect(holders()).toBe(1);
  expect(pool.bytes).toBe(16 * SLICE_BYTES);
});

it('never takes a slice from those who use it', async () => {
  const { file } = fakeFile(40);
  const pool = new SlicePool(0);
  const pinned = Array.from({ length: 16 }, (_, n) => pool.take(file, n)!);
  await Promise.all(pinned.map(({ ready }) => ready));
  expect(pool.take(file, 16)).toBeUndefined();
  pool.release(pinned[3]!);
  const next = pool.take(file, 16)!;
  await next.ready;
  // The memory of the one that was given back, and of no other.
  expect(next.bytes).toBe(pinned[3]!.bytes);
  for (const [n, { bytes }] of pinned.entries()) expect(bytes[0]).toBe(n === 3 ? 16 : n);
});

it('lets go of what was not wanted for longest', async () => {
  const { file, reads } = fakeFile(40);
  const pool = new SlicePool(0);
  const use = async (index: number): Promise<void> => {
    const slice = pool.take(file, index)!;
    await slice.ready;
    pool.release(slice);
  };
  for (let n = 0; n < 16; n++) await use(n);
  await use(0);
  await use(16);
  reads.length = 0;
  await use(0);
  expect(reads).toEqual([]);
  await use(1);
  expect(reads).toEqual([SLICE_BYTES]);
});

it('tells everybody who waits for a slice that it can not be read, and tries again for the next', async () => {
  const { file, reads, holders } = fakeFile(2, { fails: true });
  const pool = new SlicePool(0);
  const waiting = [pool.take(file, 0)!, pool.take(file, 0)!];
  for (const { ready } of waiting) await expect(ready).rejects.toThrow('on fire');
  expect([pool.bytes, holders()]).toEqual([0, 1]);
  await expect(pool.take(file, 0)!.ready).rejects.toThrow('on fire');
  expect(reads).toHaveLength(2);
});

it('reads ahead, and leaves nothing pinned however a reader ends', async () => {
  const { file, reads } = fakeFile(20);
  const pool = new SlicePool(0);
  const pieces = piecesOf(file, 0, 20 * SLICE_BYTES - 1, pool);
  await pieces.next();
  await pieces.next();
  expect(reads).toEqual([0]);
  await pieces.next();
  expect(reads).toEqual([0, SLICE_BYTES]);
  await pieces.return();
  await sleep(10);
  // All of the pool can be had again.
  for (let n = 4; n < 20; n++) expect(pool.take(file, n)).toBeDefined();
});

it('reads with a little memory of its own when there is no room', async () => {
  const { file } = fakeFile(20);
  const pool = new SlicePool(0);
  for (let n = 0; n < 16; n++) pool.take(file, n);
  let length = 0;
  for await (const piece of piecesOf(file, 17 * SLICE_BYTES, 19 * SLICE_BYTES - 1, pool)) {
    expect(piece[0]).toBe(Math.floor(17 + length / SLICE_BYTES));
    length += piece.length;
  }
  expect(length).toBe(2 * SLICE_BYTES);
  expect(pool.bytes).toBe(16 * SLICE_BYTES);
});
