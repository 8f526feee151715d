import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Downloader } from '../../../server/assets/download.ts';
import { Web, type WebOptions } from '../../../server/assets/web.ts';
import { Space } from '../../../server/content/space.ts';
import { etagOf, type Origin, startOrigin } from '../../assets/origin.ts';
import { tempFolder } from '../../support/temp.ts';

const BYTES = randomBytes(300_000);
const PATH = '/image';
let origin: Origin;
let dir: string;
let partial: string;

beforeEach(async () => {
  origin = await startOrigin();
  origin.files.set(PATH, BYTES);
  dir = await tempFolder();
  partial = join(dir, 'image.partial');
});

interface Options {
  url?: string;
  web?: Partial<WebOptions>;
  freeBytes?: () => number;
  signal?: AbortSignal;
  onProgress?: (bytes: number, total: number | undefined, fetched: number) => void;
}

async function fetchIt({ url, web, freeBytes, signal, onProgress }: Options = {}) {
  const reach = new Web({ userAgent: 'test', answerMs: 400, ...web });
  onTestFinished(() => reach.stop());
  const space = new Space({ dir, minFreeBytes: 1000, freeBytes: async () => freeBytes?.() ?? 1e12 });
  const downloader = new Downloader({
    web: reach,
    space,
    maxFailures: 3,
    windowMs: 200,
    bytesPerSecond: 20_000,
    pauseMs: 5,
  });
  return downloader.fetch({
    url: url ?? `${origin.url}${PATH}`,
    partial,
    signal: signal ?? new AbortController().signal,
    ...(onProgress === undefined ? {} : { onProgress }),
  });
}

/** Answers the first requests for the file in other ways. */
function first(times: number, answer: (response: ServerResponse, at: number) => void): void {
  let at = 0;
  origin.hook = (request, response) => {
    if (request.url !== PATH || at >= times) return false;
    answer(response, at);
    at += 1;
    return true;
  };
}

/** Sends so much of the file, then cuts. */
const cutAfter =
  (bytes: number, etag = etagOf(BYTES)) =>
  (response: ServerResponse) => {
    response.writeHead(200, { etag, 'content-length': BYTES.length });
    response.write(BYTES.subarray(0, bytes), () => setTimeout(() => response.destroy(), 20));
  };

const isWhole = async () => expect((await readFile(partial)).equals(BYTES)).toBe(true);

describe('a download', () => {
  it('brings the file, and tells how far it is', async () => {
    const seen: number[] = [];
    const done = await fetchIt({ onProgress: (bytes) => seen.push(bytes) });
    await isWhole();
    expect(done).toEqual({ fetched: BYTES.length, wasResumed: false });
    expect(seen[0]).toBe(0);
    expect(seen.at(-1)).toBe(BYTES.length);
  });

  it('goes on where the connection broke, and fetches no byte twice', async () => {
    first(1, cutAfter(120_000));
    const done = await fetchIt();
    await isWhole();
    const [, second] = origin.gets(PATH);
    expect(second).toMatchObject({ range: 'bytes=120000-', ifRange: etagOf(BYTES), status: 206 });
    expect(done).toEqual({ fetched: BYTES.length, wasResumed: true });
  });

  it('goes on after its process is gone', async () => {
    first(3, (response, at) => (at === 0 ? cutAfter(120_000)(response) : response.writeHead(503).end()));
    await expect(fetchIt()).rejects.toThrow('Given up');
    origin.hook = () => false;
    expect(await fetchIt()).toEqual({ fetched: BYTES.length - 120_000, wasResumed: true });
    await isWhole();
  });

  it('asks for nothing when it is whole already', async () => {
    await fetchIt();
    const before = origin.requests.length;
    expect(await fetchIt()).toEqual({ fetched: 0, wasResumed: true });
    expect(origin.requests).toHaveLength(before);
  });

  it('begins anew when the server has another file by then', async () => {
    first(1, cutAfter(120_000, '"older"'));
    await fetchIt();
    await isWhole();
    expect(origin.gets(PATH)[1]).toMatchObject({ ifRange: '"older"', status: 200 });
  });

  it('begins anew when a server that ignores If-Range sends the rest of another file', async () => {
    first(2, (response, at) => {
      if (at === 0) return cutAfter(120_000, '"older"')(response);
      const rest = BYTES.subarray(120_000);
      response.writeHead(206, {
        etag: '"newer"',
        'content-range': `bytes 120000-${BYTES.length - 1}/${BYTES.length}`,
        'content-length': rest.length,
      });
      response.end(rest);
    });
    await fetchIt();
    await isWhole();
    expect(origin.gets(PATH)[2]?.range).toBeUndefined();
  });

  it('begins anew when the part is not the one that was asked for', async () => {
    first(2, (response, at) => {
      if (at === 0) return cutAfter(120_000)(response);
      response.writeHead(206, { etag: etagOf(BYTES), 'content-range': `bytes 7-20/${BYTES.length}` });
      response.end(BYTES.subarray(7, 21));
    });
    await fetchIt();
    await isWhole();
  });

  it('begins anew after 416', async () => {
    first(2, (response, at) =>
      at === 0
        ? cutAfter(120_000)(response)
        : response.writeHead(416, { 'content-range': 'bytes */9' }).end(),
    );
    await fetchIt();
    await isWhole();
  });

  it('begins anew where nothing says that the rest belongs to it', async () => {
    first(1, (response) => {
      response.writeHead(200, { 'content-length': BYTES.length });
      response.write(BYTES.subarray(0, 1000), () => setTimeout(() => response.destroy(), 20));
    });
    await fetchIt();
    await isWhole();
    expect(origin.gets(PATH)[1]?.range).toBeUndefined();
  });

  it('does not trust bytes without a note, nor a note of another address', async () => {
    await writeFile(partial, 'rubbish');
    await fetchIt();
    await isWhole();
    await writeFile(`${partial}.note`, JSON.stringify({ url: 'http://other/', total: BYTES.length }));
    expect((await fetchIt()).fetched).toBe(BYTES.length);
  });

  it('tries again after 5xx and 429, and waits as long as it is told', async () => {
    first(2, (response, at) =>
      at === 0 ? response.writeHead(503).end() : response.writeHead(429, { 'retry-after': '0.05' }).end(),
    );
    await fetchIt();
    await isWhole();
    expect(origin.gets(PATH)).toHaveLength(3);
  });

  it.each([404, 403, 410])('gives up at once after %i', async (status) => {
    origin.hook = (_request, response) => Boolean(response.writeHead(status).end());
    await expect(fetchIt()).rejects.toThrow(String(status));
    expect(origin.requests).toHaveLength(1);
  });

  it('gives up on a server that says nothing', async () => {
    origin.hook = () => true;
    await expect(fetchIt()).rejects.toThrow('does not answer. Given up after 3 attempts');
  });

  it('gives up on one that stalls, and on one that sends a byte now and then', async () => {
    const timers = new Set<NodeJS.Timeout>();
    onTestFinished(() => timers.forEach(clearInterval));
    origin.hook = (_request, response) => {
      response.writeHead(200, { etag: etagOf(BYTES), 'content-length': BYTES.length });
      response.write('x');
      timers.add(setInterval(() => response.write('x'), 30));
      return true;
    };
    await expect(fetchIt()).rejects.toThrow('less than 20000 bytes a second');
  });

  it('goes on after a stall', async () => {
    first(1, (response) => {
      response.writeHead(200, { etag: etagOf(BYTES), 'content-length': BYTES.length });
      response.write(BYTES.subarray(0, 100_000));
    });
    await fetchIt();
    await isWhole();
    expect(origin.gets(PATH)[1]).toMatchObject({ range: 'bytes=100000-' });
  });

  it('takes no file that is shorter or longer than was said', async () => {
    const raw = createServer();
    raw.on('connection', (socket) => {
      socket.on('error', () => {});
      socket.once('data', () => {
        socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${BYTES.length}\r\n\r\nshort`);
      });
    });
    await new Promise<void>((resolve) => raw.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void raw.close());
    const url = `http://127.0.0.1:${(raw.address() as AddressInfo).port}/`;
    await expect(fetchIt({ url })).rejects.toThrow('broke off');
    first(1, cutAfter(120_000));
    origin.hook = longer(origin.hook);
    await expect(fetchIt()).rejects.toThrow('longer than the 300000 bytes');
    await expect(readFile(partial)).rejects.toThrow('ENOENT');
  });

  /** A server whose part goes beyond the end of the file. */
  function longer(cut: Origin['hook']): Origin['hook'] {
    return (request, response) => {
      if (request.headers.range === undefined) return cut(request, response);
      response.writeHead(206, {
        etag: etagOf(BYTES),
        'content-range': `bytes 120000-${BYTES.length - 1}/${BYTES.length}`,
      });
      response.end(Buffer.concat([BYTES.subarray(120_000), Buffer.from('more')]));
      return true;
    };
  }

  it('takes no file that came packed', async () => {
    origin.hook = (_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end('x');
      return true;
    };
    await expect(fetchIt()).rejects.toThrow('encoding gzip');
  });

  it('takes one whose length nobody says', async () => {
    origin.hook = (_request, response) => Boolean(response.writeHead(200, { etag: '"x"' }).end(BYTES));
    await fetchIt();
    await isWhole();
  });

  it('leaves room on the disk, before it begins and while it runs', async () => {
    await expect(fetchIt({ freeBytes: () => 300_900 })).rejects.toMatchObject({ code: 'RH_DISK_FULL' });
    const large = Buffer.alloc(70 * 1024 * 1024);
    origin.files.set('/large', large);
    let asked = 0;
    const freeBytes = () => (asked++ === 0 ? 1e9 : 500);
    const fetching = fetchIt({ url: `${origin.url}/large`, freeBytes });
    await expect(fetching).rejects.toMatchObject({ code: 'RH_DISK_FULL' });
    expect(origin.sent('/large')).toBeLessThan(large.length);
  });

  it('stops at once when it is told to, and goes on later', async () => {
    origin.bytesPerSecond = 400_000;
    const stop = new AbortController();
    const fetching = fetchIt({
      signal: stop.signal,
      onProgress: (bytes) => bytes > 50_000 && stop.abort(new Error('enough')),
    });
    await expect(fetching).rejects.toThrow('enough');
    origin.bytesPerSecond = undefined;
    const done = await fetchIt();
    await isWhole();
    expect(done.fetched).toBeLessThan(BYTES.length - 50_000);
  });
});

describe('redirects', () => {
  const to = (location: string) => {
    origin.hook = (request, response) =>
      request.url === PATH && Boolean(response.writeHead(302, { location }).end());
  };
  /** Names that only tests know, all of them here. */
  const resolveHost: NonNullable<WebOptions['resolveHost']> = async (name) => [
    { address: '127.0.0.1', family: 4, scope: name.startsWith('public') ? 'public' : 'loopback' },
  ];

  it('are followed, also to another server, and resumed through', async () => {
    const other = await startOrigin();
    other.files.set('/elsewhere', BYTES);
    to(`${other.url}/elsewhere`);
    await fetchIt();
    await isWhole();
    to(`http://public2.example:${other.port}/elsewhere`);
    await writeFile(partial, '');
    await fetchIt({ url: `http://public.example:${origin.port}${PATH}`, web: { resolveHost } });
    await isWhole();
  });

  it.each([
    ['file:///etc/passwd', 'not http:// or https://'],
    ['ftp://127.0.0.1/x', 'not http:// or https://'],
    ['data:,x', 'not http:// or https://'],
    ['http://', 'not http:// or https://'],
  ])('to %s are refused', async (location, why) => {
    to(location);
    await expect(fetchIt()).rejects.toThrow(why);
  });

  it.each([
    'http://127.0.0.1:PORT/admin',
    'http://[::1]:PORT/admin',
    'http://[::ffff:127.0.0.1]:PORT/admin',
    'http://2130706433:PORT/admin',
    'http://localhost:PORT/admin',
    'http://0.0.0.0:PORT/admin',
    'http://10.0.0.1:PORT/admin',
    'http://169.254.169.254/latest/meta-data',
  ])('from a public server to %s are refused, without asking there', async (location) => {
    const admin = await startOrigin();
    admin.files.set('/admin', BYTES);
    to(location.replace('PORT', String(admin.port)));
    const fetching = fetchIt({ url: `http://public.example:${origin.port}${PATH}`, web: { resolveHost } });
    await expect(fetching).rejects.toThrow(/A redirect to .* was refused: it leads to a/);
    expect(admin.requests).toEqual([]);
  });

  it('to the metadata of a cloud are refused, even from this machine', async () => {
    to('http://169.254.169.254/latest/meta-data');
    await expect(fetchIt()).rejects.toThrow('link-local');
  });

  it('are not followed for ever', async () => {
    to(`${origin.url}${PATH}`);
    await expect(fetchIt()).rejects.toThrow('redirects more than 5 times');
    expect(origin.requests).toHaveLength(6);
  });
});

it('goes through a proxy, except to where it should not', async () => {
  const proxy = createServer((request, response) => {
    const url = new URL(request.url ?? '');
    response.writeHead(200, { etag: '"p"' }).end(`proxied ${url.host}${url.pathname}`);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void proxy.close());
  const address = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const web = { proxy: { HTTP_PROXY: address, NO_PROXY: '127.0.0.1' } };
  await fetchIt({ url: 'http://mirror.example/image', web });
  expect(await readFile(partial, 'utf8')).toBe('proxied mirror.example/image');
  await fetchIt({ web });
  await isWhole();
});
