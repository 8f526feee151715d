import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { converse, get, MIB, poll, put, serve, sha256 } from './serve.ts';

it('sends a file with all that a client can resume by', async () => {
  const served = await serve();
  const content = await put(served, 'image', 3 * MIB + 5);
  await utimes(join(served.root, 'image'), 1_700_000_000, 1_700_000_000);
  const { status, headers, body } = await get(served, 'image');
  expect(status).toBe(200);
  expect(headers).toMatchObject({
    'content-length': String(content.length),
    'content-type': 'application/octet-stream',
    'accept-ranges': 'bytes',
    'last-modified': 'Tue, 14 Nov 2023 22:13:20 GMT',
    'x-from-a-hook': 'yes',
  });
  expect(headers).not.toHaveProperty('transfer-encoding');
  expect(body.equals(content)).toBe(true);
  await poll(() => expect(served.sent).toEqual({ bytes: content.length, ends: [true] }));
});

it('sends no bytes to HEAD, and does not count it as sent', async () => {
  const served = await serve();
  await put(served, 'image', 2 * MIB);
  const { status, headers, body } = await get(served, 'image', { range: 'bytes=0-5' }, 'HEAD');
  expect(status).toBe(200);
  expect(headers['content-length']).toBe(String(2 * MIB));
  expect(body).toHaveLength(0);
  expect(served.sent).toEqual({ bytes: 0, ends: [false] });
});

it('sends parts', async () => {
  const served = await serve();
  const size = 3 * MIB + 5;
  const content = await put(served, 'image', size);
  for (const [range, start, end] of [
    ['bytes=0-0', 0, 0],
    [`bytes=${MIB - 1}-${MIB}`, MIB - 1, MIB],
    [`bytes=100-${3 * MIB}`, 100, 3 * MIB],
    ['bytes=-7', size - 7, size - 1],
    [`bytes=${size - 1}-`, size - 1, size - 1],
  ] as const) {
    const { status, headers, body } = await get(served, 'image', { range });
    expect(status).toBe(206);
    expect(headers['content-range']).toBe(`bytes ${start}-${end}/${size}`);
    expect(headers['content-length']).toBe(String(end + 1 - start));
    expect(body.equals(content.subarray(start, end + 1))).toBe(true);
  }
  // What has not got the last byte can't have the file.
  await poll(() => expect(served.sent.ends).toEqual([false, false, false, true, true]));
});

it('answers several parts with the whole, and parts beyond the end with an error', async () => {
  const served = await serve();
  const content = await put(served, 'image', 1000);
  const several = await get(served, 'image', { range: 'bytes=0-1,5-6' });
  expect(several.status).toBe(200);
  expect(several.body.equals(content)).toBe(true);
  const beyond = await get(served, 'image', { range: 'bytes=1000-' });
  expect(beyond.status).toBe(416);
  expect(beyond.headers['content-range']).toBe('bytes */1000');
  expect(JSON.parse(String(beyond.body))).toMatchObject({ error: { code: 'RH_REQUEST_INVALID' } });
});

it('sends an empty file', async () => {
  const served = await serve();
  await put(served, 'empty', 0);
  const { status, headers, body } = await get(served, 'empty');
  expect([status, headers['content-length'], body.length]).toEqual([200, '0', 0]);
  expect(headers.etag).toBe(`"${sha256(Buffer.alloc(0))}"`);
  expect(served.sent.ends).toEqual([true]);
});

it('names a small file by its hash at once', async () => {
  const served = await serve();
  const content = await put(served, 'kernel', 5000);
  const { headers } = await get(served, 'kernel', {}, 'HEAD');
  expect(headers.etag).toBe(`"${sha256(content)}"`);
  expect((await get(served, 'kernel', { 'if-none-match': headers.etag! })).status).toBe(304);
});

it('names a large file by its hash as soon as it is known, and understands the name it gave before', async () => {
  const served = await serve();
  const content = await put(served, 'image', 20 * MIB);
  const first = (await get(served, 'image', { range: 'bytes=0-0' })).headers.etag!;
  expect(first).toMatch(/^"v-[0-9a-f]{32}"$/);
  const last = `"${sha256(content)}"`;
  await poll(async () => expect((await get(served, 'image', {}, 'HEAD')).headers.etag).toBe(last));
  for (const etag of [first, last]) {
    const rest = await get(served, 'image', { range: 'bytes=20000000-', 'if-range': etag });
    expect(rest.status).toBe(206);
    expect(rest.body.equals(content.subarray(20_000_000))).toBe(true);
    expect((await get(served, 'image', { 'if-none-match': etag })).status).toBe(304);
  }
  const changed = await put(served, 'image', 20 * MIB);
  const whole = await get(served, 'image', { range: 'bytes=20000000-', 'if-range': last });
  expect(whole.status).toBe(200);
  expect(whole.body.equals(changed)).toBe(true);
});

it('speaks HTTP/1.0 as Syslinux does: no Host, no chunks, the end of the connection is the end', async () => {
  const served = await serve();
  const content = await put(served, 'image', 2 * MIB + 1);
  const answer = await converse(served, 'GET /image HTTP/1.0\r\nUser-Agent: Syslinux/6.04\r\n\r\n');
  const end = answer.indexOf('\r\n\r\n');
  const text = answer.toString('latin1', 0, end);
  // Boot loaders look for it in this spelling.
  expect(text).toContain(`Content-Length: ${content.length}`);
  const head = text.toLowerCase();
  expect(head).toMatch(/^http\/1\.1 200/);
  expect(head).toContain('connection: close');
  expect(head).not.toContain('chunked');
  expect(answer.subarray(end + 4).equals(content)).toBe(true);
});

it('keeps an HTTP/1.0 connection only for those who ask for it', async () => {
  const served = await serve();
  await put(served, 'image', 10);
  const keep = 'GET /image HTTP/1.0\r\nConnection: keep-alive\r\n\r\n';
  const answer = String(await converse(served, `${keep}${keep}GET /image HTTP/1.0\r\n\r\n`));
  expect(answer.match(/HTTP\/1.1 200/g)).toHaveLength(3);
  expect(answer.match(/connection: keep-alive/gi)).toHaveLength(2);
});

it('answers requests that were sent all at once in their order', async () => {
  const served = await serve();
  const content = await put(served, 'image', 3 * MIB);
  const ask = (range: string, connection: string) =>
    `GET /image HTTP/1.1\r\nHost: test\r\nRange: bytes=${range}\r\nConnection: ${connection}\r\n\r\n`;
  const answer = await converse(served, `${ask('0-2000000', 'keep-alive')}${ask('2000001-', 'close')}`);
  const second = answer.lastIndexOf('HTTP/1.1 206');
  const bodyOf = (part: Buffer) => part.subarray(part.indexOf('\r\n\r\n') + 4);
  const got = Buffer.concat([bodyOf(answer.subarray(0, second)), bodyOf(answer.subarray(second))]);
  expect(got.equals(content)).toBe(true);
});

it('refuses a file that has not the size it should have', async () => {
  const served = await serve();
  await put(served, 'image', 1000);
  const { status, headers, body } = await get(served, 'image', { 'x-size': '1001' });
  expect(status).toBe(503);
  expect(headers).not.toHaveProperty('accept-ranges');
  expect(JSON.parse(String(body))).toMatchObject({ error: { code: 'RH_IMAGE_UNAVAILABLE' } });
  expect(String(body)).toContain('1000 bytes instead of 1001');
  expect((await get(served, 'image', { 'x-size': '1000' })).status).toBe(200);
  expect(served.sent.ends).toEqual([false, true]);
});

it('finds files in folders of the root', async () => {
  const served = await serve();
  await mkdir(join(served.root, 'flatcar', '4230.2.1'), { recursive: true });
  await writeFile(join(served.root, 'flatcar', '4230.2.1', 'kernel'), 'kernel');
  expect(String((await get(served, 'flatcar/4230.2.1/kernel')).body)).toBe('kernel');
});
