import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { rename, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { get, MIB, poll, put, serve, sha256, stalled } from '../../http/files/serve.ts';

/** More than the kernel's buffers of both sides take: a reader that stops is in the middle. */
const LARGE = 48 * MIB;
const openFiles = (): number => readdirSync('/proc/self/fd').length;

it('counts what a client took that vanishes in the middle, and leaves nothing behind', async () => {
  const served = await serve({ cacheBytes: 0 });
  await put(served, 'image', LARGE);
  await get(served, 'image', {}, 'HEAD');
  await poll(() => expect(served.sender.status().openFiles).toBe(0));
  const before = openFiles();
  const sockets = await Promise.all(Array.from({ length: 20 }, () => stalled(served, 'image')));
  await poll(() => expect(served.sent.bytes).toBeGreaterThan(0));
  for (const socket of sockets) socket.resetAndDestroy();
  await poll(() => expect(served.sent.ends).toHaveLength(21));
  expect(served.sent.ends.some(Boolean)).toBe(false);
  expect(served.sent.bytes).toBeLessThan(20 * LARGE);
  await poll(() => expect(served.sender.status()).toMatchObject({ sending: 0, openFiles: 0 }));
  expect(served.sender.status().cachedBytes).toBeLessThanOrEqual(16 * MIB);
  await poll(() => expect(openFiles()).toBeLessThanOrEqual(before));
});

it('gives up on a client that takes nothing any more, not on one that is slow', async () => {
  const served = await serve({ stallMs: 1000 });
  const content = await put(served, 'image', LARGE / 2);
  const dead = await stalled(served, 'image');
  const slow = await stalled(served, 'image');
  const startedAt = performance.now();
  const hash = createHash('sha256');
  let left = Number.NaN;
  const reading = setInterval(() => {
    let chunk: Buffer | null = slow.read();
    if (chunk !== null && Number.isNaN(left)) {
      chunk = chunk.subarray(chunk.indexOf('\r\n\r\n') + 4);
      left = content.length;
    }
    if (chunk === null) return;
    hash.update(chunk);
    left -= chunk.length;
  }, 5);
  onTestFinished(() => clearInterval(reading));
  await poll(() => expect(left).toBe(0));
  expect(performance.now() - startedAt).toBeGreaterThan(1000);
  expect(hash.digest('hex')).toBe(sha256(content));
  await poll(() => expect(served.sent.ends.toSorted()).toEqual([false, true]));
  dead.destroy();
  slow.destroy();
});

it('sends the file that was there when it began, also when another one takes its name', async () => {
  const served = await serve({ cacheBytes: 0 });
  const old = await put(served, 'image', LARGE);
  const socket = await stalled(served, 'image');
  await put(served, 'next', LARGE);
  await rename(join(served.root, 'next'), join(served.root, 'image'));
  const chunks: Buffer[] = [];
  let length = 0;
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    length += chunk.length;
  });
  await poll(() => expect(length).toBeGreaterThan(LARGE));
  socket.destroy();
  expect(sha256(Buffer.concat(chunks).subarray(-LARGE))).toBe(sha256(old));
  const { body } = await get(served, 'image');
  expect(body.equals(old)).toBe(false);
});

it('ends the connection when the file is cut in the middle, and never fills it up', async () => {
  const served = await serve({ cacheBytes: 0 });
  await put(served, 'image', LARGE);
  const socket = await stalled(served, 'image');
  await truncate(join(served.root, 'image'), 100);
  let length = 0;
  socket.on('data', (chunk: Buffer) => {
    length += chunk.length;
  });
  await new Promise((resolve) => socket.once('close', resolve));
  expect(length).toBeLessThan(LARGE);
  expect(served.sent.ends).toEqual([false]);
});

it('ends the connection when the file is written to in the middle: a mixture is worse than nothing', async () => {
  const served = await serve({ cacheBytes: 0 });
  await put(served, 'image', LARGE);
  const socket = await stalled(served, 'image');
  await writeFile(join(served.root, 'image'), Buffer.alloc(LARGE));
  socket.resume();
  await new Promise((resolve) => socket.once('close', resolve));
  expect(served.sent.ends).toEqual([false]);
});

it('forgets a pipelined request whose connection ends before its turn', async () => {
  const served = await serve();
  await put(served, 'image', LARGE);
  const socket = await stalled(served, 'image');
  socket.write('GET /image HTTP/1.1\r\nHost: test\r\n\r\n');
  await poll(() => expect(served.sender.status().sending).toBe(2));
  socket.destroy();
  await poll(() => expect(served.sent.ends).toEqual([false, false]));
  await poll(() => expect(served.sender.status()).toMatchObject({ sending: 0, openFiles: 0 }));
});

it('stops: what is under way ends, nothing new begins, no file stays open', async () => {
  const served = await serve();
  await put(served, 'image', LARGE);
  await stalled(served, 'image');
  await served.sender.stop();
  expect(served.sender.status()).toEqual({ sending: 0, openFiles: 0, cachedBytes: 0 });
  expect(served.sent.ends).toEqual([false]);
  expect((await get(served, 'image')).status).toBe(503);
});
