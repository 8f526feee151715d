import { networkInterfaces } from 'node:os';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../../support/poll.ts';
import { compare, tftpClients } from '../../support/tftp-clients.ts';
import { download, ScriptedClient } from '../../support/tftp-scripted.ts';
import { TftpServerProcess, type TftpServerStart } from '../../support/tftp-server.ts';

const MB = 1024 * 1024;
const clients = await tftpClients();
const running: { close(): unknown }[] = [];
let server: TftpServerProcess;

async function start(settings: TftpServerStart = {}): Promise<void> {
  server = await TftpServerProcess.start(settings);
}

async function newClient(address = '127.0.0.1'): Promise<ScriptedClient> {
  const client = await ScriptedClient.open(server, { address });
  running.push(client);
  return client;
}

/** A client that has begun a transfer and then does nothing. */
async function slowClient(file: string, address?: string): Promise<{ client: ScriptedClient; port: number }> {
  const client = await newClient(address);
  client.read(file);
  const { packet, port } = await client.take();
  if (packet?.type === 'error') throw new Error(packet.message);
  return { client, port };
}

beforeEach(() => {
  running.length = 0;
});
afterEach(async () => {
  for (const one of running) one.close();
  await server.stop();
  expect(server.stderr).toBe('');
});

describe('500 readers of one file at once', () => {
  it.each([
    ['from addresses of their own', (n: number) => `127.0.${1 + (n >> 8)}.${n & 0xff || 1}`],
    ['from one address', () => '127.0.0.1'],
  ])('%s: all complete, all identical, the file in memory once', async (how, address) => {
    await start();
    const content = await server.addFile('image', MB);
    await download(server, 'image', { blksize: 1432, windowsize: 16 });
    const before = await server.status();
    const started = performance.now();
    const all = await Promise.all(
      Array.from({ length: 500 }, (_, n) =>
        download(server, 'image', {
          blksize: 1432,
          windowsize: 16,
          expected: content,
          from: { address: address(n) },
        }),
      ),
    );
    const seconds = (performance.now() - started) / 1000;
    const after = await until('every transfer is over', async () => {
      const status = await server.status();
      return status.transfers.length === 0 && status;
    });
    const growth = ((await server.mostMemory()) - before.rss) / MB;
    const repeated = all.reduce((total, one) => total + one.repeated, 0);
    console.log(
      `500 readers of 1 MB ${how}: ${seconds.toFixed(1)} s (${(500 / seconds).toFixed(0)} MB/s), ` +
        `memory +${growth.toFixed(0)} MB, ${repeated} blocks came twice`,
    );
    expect(all.filter(({ isAsExpected }) => !isAsExpected)).toEqual([]);
    expect(server.transfers.filter(({ result }) => result !== 'done')).toEqual([]);
    expect(growth).toBeLessThan(128);
    expect(after.sockets).toBe(before.sockets);
  });
});

describe('one client can’t take the places of the others', () => {
  it('its requests beyond the limit are refused with the reason while others are served', async () => {
    await start({ maxPerClient: 5, maxTransfers: 8 });
    const content = await server.addFile('image', 100_000);
    const slow = [];
    for (let n = 0; n < 5; n++) slow.push(await slowClient('image', '127.0.0.9'));
    await expect(slowClient('image', '127.0.0.9')).rejects.toThrow(
      '127.0.0.9 has 5 transfers under way; that is the limit',
    );
    expect(await server.refused('image')).toMatchObject({
      code: 0,
      reason: expect.stringContaining('127.0.0.9'),
    });
    const other = await download(server, 'image', { expected: content });
    expect(other.isAsExpected).toBe(true);

    for (let n = 0; n < 3; n++) await slowClient('image', `127.0.0.${20 + n}`);
    await expect(slowClient('image', '127.0.0.30')).rejects.toThrow(
      '8 transfers are under way; that is the limit',
    );

    const { client, port } = slow[0]!;
    client.send(Buffer.from([0, 5, 0, 0, 0]), port);
    await server.ended('image', { port: client.port });
    await slowClient('image', '127.0.0.9');
  });

  it('a hundred that stand still slow nobody down', async () => {
    await start();
    const content = await server.addFile('image', MB);
    for (let n = 0; n < 100; n++) await slowClient('image');
    const got = await download(server, 'image', { blksize: 1432, windowsize: 16, expected: content });
    expect(got.isAsExpected).toBe(true);
  });
});

describe('the ports of transfers', () => {
  it('are those of the range, each used again when it is free; when none is, that is the reason', async () => {
    const [first, last] = await freePorts(3);
    await start({ ports: `${first}-${last}` });
    await server.addFile('image', 5000);
    const slow = [];
    for (let n = 0; n < 3; n++) slow.push(await slowClient('image'));
    expect(slow.map(({ port }) => port).toSorted()).toEqual([first, first + 1, last]);
    await expect(slowClient('image')).rejects.toThrow('every port for transfers is in use; try again');
    const [one] = slow;
    one!.client.send(Buffer.from([0, 5, 0, 0, 0]), one!.port);
    await server.ended('image', { port: one!.client.port });
    expect((await slowClient('image')).port).toBe(one!.port);
  });

  it('are the listening one in single-port mode, for every client', async () => {
    await start({ ports: 'single' });
    const content = await server.addFile('image', MB);
    for (const client of clients) {
      const options = {
        ...(client.can.blksize ? { blksize: 1432 } : {}),
        ...(client.can.windowsize ? { windowsize: 16 } : {}),
      };
      expect(compare(await client.get(server, 'image', options), content), client.name).toBe('identical');
    }
  });

  it('are the listening one in single-port mode, also for a hundred at once, with nobody’s packets mixed up', async () => {
    await start({ ports: 'single' });
    const { sockets } = await server.status();
    const contents = await Promise.all([0, 1, 2].map((n) => server.addFile(`image-${n}`, 200_000)));
    const all = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        download(server, `image-${n % 3}`, { blksize: 1432, windowsize: 8, expected: contents[n % 3]! }),
      ),
    );
    expect(all.every(({ isAsExpected }) => isAsExpected)).toBe(true);
    const client = await newClient();
    client.read('image-0');
    expect((await client.take()).port).toBe(server.port);
    const stranger = await newClient();
    stranger.ack(1, server.port);
    expect((await stranger.take()).packet).toMatchObject({ type: 'error', code: 5 });
    expect((await server.status()).sockets).toBe(sockets);
  });
});

describe('a server for both families of addresses', () => {
  it('serves clients of both, and tells of them as the inventory writes them', async ({ skip }) => {
    if (!Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))) {
      return skip('this machine has no IPv6');
    }
    await start({ bind: '::', maxPerClient: 1 });
    const content = await server.addFile('image', 100_000);
    for (const client of clients) {
      for (const address of ['127.0.0.1', '::1']) {
        const options = client.can.windowsize ? { windowsize: 16 } : {};
        const got = await client.get({ address, port: server.port }, 'image', options);
        expect(compare(got, content), `${client.name} ${address}`).toBe('identical');
      }
    }
    const told = new Set(server.transfers.map(({ client }) => client.replace(/\d+$/, '')));
    if (clients.length > 0) expect(told).toEqual(new Set(['127.0.0.1:', '[::1]:']));
  });
});

describe('a server that runs out of something', () => {
  it('file descriptors: some are told to try again, nothing breaks, and later all is well', async () => {
    await start({ descriptors: 80 });
    const content = await server.addFile('image', 20_000);
    const got = await Promise.allSettled(
      Array.from({ length: 150 }, () => download(server, 'image', { expected: content })),
    );
    const slow: { client: ScriptedClient; port: number }[] = [];
    let refusal = '';
    while (slow.length < 100 && refusal === '') {
      await slowClient('image').then(
        (one) => slow.push(one),
        (error: Error) => {
          refusal = error.message;
        },
      );
    }
    expect(got.some(({ status }) => status === 'fulfilled')).toBe(true);
    expect(slow.length).toBeGreaterThan(20);
    expect(refusal).toMatch(/\S/);
    for (const { client, port } of slow) client.send(Buffer.from([0, 5, 0, 0, 0]), port);
    await until('every transfer is over', async () => (await server.status()).transfers.length === 0);
    const after = await download(server, 'image', { expected: content });
    expect(after.isAsExpected).toBe(true);
  });
});

/** That many ports in a row that nobody uses now. */
async function freePorts(count: number): Promise<[first: number, last: number]> {
  for (let first = 42_000; first < 60_000; first += 97) {
    const probes: ScriptedClient[] = [];
    try {
      for (let n = 0; n < count; n++) {
        probes.push(await ScriptedClient.open({ address: '127.0.0.1', port: 1 }, { port: first + n }));
      }
      return [first, first + count - 1];
    } catch {
      // somebody's
    } finally {
      for (const probe of probes) probe.close();
    }
  }
  throw new Error('there are no free ports');
}
