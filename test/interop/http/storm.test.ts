import { expect, it } from 'vitest';
import { get, MIB, poll, put, serve, sha256, stalled } from '../../http/files/serve.ts';

it('gives 100 readers at once the same bytes', async () => {
  const served = await serve();
  const content = await put(served, 'image', 3 * MIB + 345);
  const answers = await Promise.all(
    Array.from({ length: 100 }, async () => sha256((await get(served, 'image')).body)),
  );
  expect(new Set(answers)).toEqual(new Set([sha256(content)]));
  await poll(() => expect(served.sent).toEqual({ bytes: 100 * content.length, ends: Array(100).fill(true) }));
});

it('gives the same bytes when the file is larger than the cache and everybody is somewhere else in it', async () => {
  const served = await serve({ cacheBytes: 0 });
  const content = await put(served, 'image', 24 * MIB + 7);
  await Promise.all(
    Array.from({ length: 20 }, async (_, reader) => {
      const start = reader * MIB + reader;
      const { body } = await get(served, 'image', { range: `bytes=${start}-` });
      expect(sha256(body)).toBe(sha256(content.subarray(start)));
    }),
  );
  expect(served.sender.status().cachedBytes).toBeLessThanOrEqual(16 * MIB);
});

it('keeps its limit, and serves on, when slow readers sit on all of the cache', async () => {
  const served = await serve({ cacheBytes: 16 * MIB });
  const content = await put(served, 'image', 64 * MIB);
  const slow = await Promise.all(
    Array.from({ length: 40 }, (_, reader) => stalled(served, 'image', `bytes=${reader * MIB}-`)),
  );
  const { body } = await get(served, 'image');
  expect(body.equals(content)).toBe(true);
  expect(served.sender.status().cachedBytes).toBeLessThanOrEqual(16 * MIB);
  for (const socket of slow) socket.destroy();
});
