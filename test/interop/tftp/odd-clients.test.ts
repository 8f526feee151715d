import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { encodeAck, encodeError, encodeOack, encodeRequest } from '../../../server/tftp/codec.ts';
import { until } from '../../support/poll.ts';
import { download, ScriptedClient } from '../../support/tftp-scripted.ts';
import { type Address, TftpServerProcess } from '../../support/tftp-server.ts';
import { sendRaw } from '../../support/tftp-spoof.ts';

/** Long enough for a server that would send again to have done so: its first time-outs are shorter. */
const A_WHILE = 700;
let server: TftpServerProcess;

beforeAll(async () => {
  server = await TftpServerProcess.start();
});
afterAll(async () => {
  await server?.stop();
  expect(server?.stderr).toBe('');
});

async function newClient(from: { address?: string; port?: number } = {}): Promise<ScriptedClient> {
  const client = await ScriptedClient.open(server, from);
  onTestFinished(() => client.close());
  return client;
}

/** A file that only this test asks for. */
let files = 0;
async function newFile(size: number): Promise<{ name: string; content: Buffer }> {
  const name = `file-${files++}`;
  return { name, content: await server.addFile(name, size) };
}

/** Acknowledges what comes in lockstep from this block on, up to the end. */
async function finish(client: ScriptedClient, from: number, blksize = 512): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for (let block = from; ; block++) {
    const { bytes, port } = await client.takeBlock(block);
    chunks.push(bytes.subarray(4));
    client.ack(block, port);
    if (bytes.length < blksize + 4) return Buffer.concat(chunks);
  }
}

describe('firmware that asks for the size first', () => {
  const probe = { tsize: '0', blksize: '1468', windowsize: '4' };

  it.each([
    ['EDK2', 8, 'User aborted the transfer'],
    ['a PXE ROM', 0, 'TFTP Aborted'],
  ])('%s leaves with error %i: a quiet end', async (_, code, message) => {
    const { name, content } = await newFile(50_000);
    const client = await newClient();
    client.read(name, probe);
    const { packet, port } = await client.take();
    expect(packet).toEqual({ type: 'oack', options: { ...probe, tsize: '50000' } });
    client.send(encodeError(code, message), port);
    expect(await server.ended(name)).toMatchObject({ result: 'size-only', bytes: 0 });
    expect(await client.takeAll(A_WHILE)).toEqual([]);

    const got = await download(server, name, { blksize: 1468, windowsize: 4, expected: content });
    expect(got).toMatchObject({
      isAsExpected: true,
      options: { blksize: '1468', windowsize: '4' },
    });
  });

  it('and whose error is lost gets the answer to its second question, from the same port', async () => {
    const { name } = await newFile(5000);
    const client = await newClient();
    client.read(name, probe);
    const first = await client.take();
    client.read(name, { blksize: '1468', windowsize: '4' });
    const second = await client.take();
    expect(second.packet).toEqual({ type: 'oack', options: { blksize: '1468', windowsize: '4' } });
    expect(second.port).not.toBe(first.port);
    client.ack(0, second.port);
    expect((await client.take()).packet).toMatchObject({ type: 'data', block: 1 });
    expect(await server.ended(name)).toMatchObject({ result: 'superseded' });
  });

  it('that refuses what it asked for has an error with a reason', async () => {
    const { name } = await newFile(5000);
    const client = await newClient();
    client.read(name, { blksize: '1468' });
    const { port } = await client.take();
    client.send(encodeError(8, 'no such block size'), port);
    expect(await server.ended(name)).toMatchObject({
      result: 'client-error',
      reason: 'error 8: no such block size',
    });
  });
});

describe('names as firmware writes them', () => {
  it.each([
    '/odd/name',
    '//odd//name',
    '\\odd\\name',
    './odd/./name',
    'odd/name\xff',
    'odd/name\xff\xd1\x33*G',
  ])('%j', async (written) => {
    await server.addFile('odd/name', 'found');
    const { content } = await download(server, written);
    expect(content.toString()).toBe('found');
  });
});

describe('a request that comes again from the same port', () => {
  it('at once is a copy: it starts no second transfer', async () => {
    const { name, content } = await newFile(5000);
    const client = await newClient();
    for (let copies = 0; copies < 5; copies++) client.read(name, { blksize: '1024' });
    const { port } = await client.take();
    expect(await client.takeAll(100)).toEqual([]);
    expect((await server.status()).transfers.filter(({ file }) => file === name)).toHaveLength(1);
    client.ack(0, port);
    expect(await finish(client, 1, 1024)).toEqual(content);
    expect(await server.ended(name)).toMatchObject({ result: 'done' });
    expect(server.transfers.filter(({ file }) => file === name)).toHaveLength(1);
  });

  it('in the middle of the transfer is a late copy', async () => {
    const { name, content } = await newFile(5000);
    const client = await newClient();
    client.read(name);
    const { port } = await client.take();
    client.ack(1, port);
    client.read(name);
    expect(await finish(client, 2)).toEqual(content.subarray(512));
    expect(await server.ended(name)).toMatchObject({ result: 'done' });
    expect(new Set(client.received.map((packet) => packet.port))).toEqual(new Set([port]));
  });

  it('because our answer was lost is answered again, by the same transfer', async () => {
    const { name } = await newFile(5000);
    const client = await newClient();
    client.read(name, { blksize: '1024' });
    const first = await client.take();
    await client.takeAll(300);
    client.read(name, { blksize: '1024' });
    const second = await client.take();
    expect(second.port).toBe(first.port);
    expect(second.bytes).toEqual(first.bytes);
  });

  it('for another file, as from a ROM that reuses its port, ends the first one and is served', async () => {
    const [first, second] = [await newFile(100_000), await newFile(700)];
    const client = await newClient();
    client.read(first.name);
    client.ack(1, (await client.take()).port);
    await client.take();
    client.read(second.name);
    expect(await finish(client, 1)).toEqual(second.content);
    expect(await server.ended(first.name)).toMatchObject({ result: 'superseded' });
    expect(await server.ended(second.name)).toMatchObject({ result: 'done' });
  });

  it('after a second of silence is a new start', async () => {
    const { name, content } = await newFile(3000);
    const client = await newClient();
    client.read(name);
    client.ack(1, (await client.take()).port);
    await client.takeBlock(2); // the server has heard it, and is silent from now on
    await client.takeAll(1200);
    client.read(name);
    expect(await finish(client, 1)).toEqual(content);
    const results = () => server.transfers.filter(({ file }) => file === name).map(({ result }) => result);
    await until('both have ended', () => results().length === 2);
    expect(results()).toEqual(['superseded', 'done']);
  });
});

describe('packets from somebody else', () => {
  it.each([
    ['another port', undefined],
    ['the same port of another address', '127.0.0.2'],
  ])('from %s get error 5, and the transfer goes on', async (_, address) => {
    const { name, content } = await newFile(3000);
    const client = await newClient();
    client.read(name);
    const { port } = await client.take();
    const stranger = await newClient(address === undefined ? {} : { address, port: client.port });
    stranger.ack(1, port);
    expect((await stranger.take()).packet).toMatchObject({ type: 'error', code: 5 });
    // An error is no reason for an error, and must not end what is not theirs.
    stranger.send(encodeError(0, 'go away'), port);
    stranger.send(encodeOack({ blksize: '8' }), port);
    stranger.send(Buffer.alloc(0), port);
    expect(await stranger.takeAll(200)).toEqual([]);
    client.ack(1, port);
    expect(await finish(client, 2)).toEqual(content.subarray(512));
    expect(await server.ended(name)).toMatchObject({ result: 'done' });
  });

  it('to the port for requests are not answered: nobody is to be told what they did not ask', async () => {
    const client = await newClient();
    for (const bytes of [
      encodeAck(1),
      encodeError(5, 'x'),
      encodeOack({}),
      Buffer.from([0, 3, 0, 1, 1]),
      Buffer.from([0]),
      Buffer.alloc(0),
      Buffer.alloc(9000),
    ]) {
      client.send(bytes);
    }
    expect(await client.takeAll(300)).toEqual([]);
  });

  it('from port 0, where nothing can be sent to, do no harm', async ({ skip }) => {
    const { name, content } = await newFile(3000);
    const client = await newClient();
    client.read(name);
    const { port } = await client.take();
    const read = (filename: string): Buffer =>
      encodeRequest({ type: 'read', filename, mode: 'octet', options: {} });
    const from = { address: '127.0.0.1', port: 0 };
    const targets: [Address, Buffer][] = [
      [server, read('missing')],
      [server, read(name)],
      [server, Buffer.from([0, 1, 0])],
      [{ ...server, port }, encodeAck(1)],
    ];
    for (const [to, bytes] of targets) {
      if (!(await sendRaw(from, to, bytes))) return skip('raw sockets need root');
    }
    client.ack(1, port);
    expect(await finish(client, 2)).toEqual(content.subarray(512));
    expect(server.hasEnded).toBe(false);
  });

  it('from the server’s own ports make no loop', async ({ skip }) => {
    const { name, content } = await newFile(3000);
    const read = encodeRequest({ type: 'read', filename: name, mode: 'octet', options: {} });
    const missing = encodeRequest({ type: 'read', filename: 'missing', mode: 'octet', options: {} });
    const self = { address: server.address, port: server.port };
    for (const bytes of [missing, read]) {
      if (!(await sendRaw(self, server, bytes))) return skip('raw sockets need root');
    }
    const got = await download(server, name, { expected: content });
    expect(got.isAsExpected).toBe(true);
    const refusals = server.refusals.filter(({ client }) => client.endsWith(`:${server.port}`));
    expect(refusals).toHaveLength(1);
  });
});

describe('acknowledgements that are sent several times', () => {
  it('don’t have blocks sent several times in lockstep', async () => {
    const { name } = await newFile(512 * 100);
    const client = await newClient();
    client.read(name);
    for (let block = 1; block <= 101; block++) {
      const { port } = await client.takeBlock(block);
      for (let times = 0; times < 4; times++) client.ack(block, port);
    }
    expect(await server.ended(name)).toMatchObject({ result: 'done', blocks: 101 });
    expect(client.received.length).toBeLessThan(101 * 1.5);
  });

  it('have every second window sent twice at most, when there are windows', async () => {
    const { name } = await newFile(512 * 160);
    const client = await newClient();
    client.read(name, { windowsize: '16' });
    const { port } = await client.take();
    for (let times = 0; times < 4; times++) client.ack(0, port);
    for (let block = 1; block <= 161; block++) {
      await client.takeBlock(block);
      if (block % 16 === 0 || block === 161) for (let times = 0; times < 4; times++) client.ack(block, port);
    }
    expect(await server.ended(name)).toMatchObject({ result: 'done' });
    expect(client.received.length).toBeLessThan(162 + 6 * 16);
  });

  it('and those of blocks that were never sent mean nothing', async () => {
    const { name, content } = await newFile(2000);
    const client = await newClient();
    client.read(name);
    const { port } = await client.take();
    for (const block of [2, 3, 0, 100, 0xffff, 0x8000]) client.ack(block, port);
    expect(await client.takeAll(100)).toEqual([]);
    client.ack(1, port);
    expect(await finish(client, 2)).toEqual(content.subarray(512));
    expect(await server.ended(name)).toMatchObject({ result: 'done' });
  });
});

describe.concurrent('a client that falls silent costs little and ends with a reason', () => {
  it('when it never answered', async ({ onTestFinished: atEnd }) => {
    const { name } = await newFile(1_000_000);
    const client = await ScriptedClient.open(server);
    atEnd(() => client.close());
    client.read(name, { blksize: '1432', windowsize: '64' });
    expect(await server.ended(name)).toMatchObject({
      result: 'timeout',
      reason: expect.stringMatching(/^the client never answered \(\d+ s\)$/),
      bytes: 0,
    });
    // Only the OACK: nobody can have a window sent to an address that is not theirs.
    expect(client.received.length).toBeLessThan(8);
  });

  it('in the middle of a file', async ({ onTestFinished: atEnd }) => {
    const { name } = await newFile(1_000_000);
    const client = await ScriptedClient.open(server);
    atEnd(() => client.close());
    client.read(name, { blksize: '1432', windowsize: '16' });
    const { port } = await client.take();
    client.ack(0, port);
    await client.takeAll(20);
    client.ack(16, port);
    expect(await server.ended(name)).toMatchObject({
      result: 'timeout',
      reason: expect.stringMatching(/^the client was silent for \d+ s$/),
      blocks: 16,
    });
    expect(client.received.length).toBeLessThan(16 * 12);
  });

  it('when it has everything but does not say so', async ({ onTestFinished: atEnd }) => {
    const { name } = await newFile(2000);
    const client = await ScriptedClient.open(server);
    atEnd(() => client.close());
    client.read(name);
    for (let block = 1; block <= 3; block++) client.ack(block, (await client.takeBlock(block)).port);
    expect(await server.ended(name)).toMatchObject({
      result: 'unconfirmed',
      reason: expect.stringMatching(/^no acknowledgement of the last blocks for \d+ s$/),
    });
  });

  it('when its machine answers nothing and its port is closed', async () => {
    const { name } = await newFile(1_000_000);
    const client = await ScriptedClient.open(server);
    client.read(name, { blksize: '1432', windowsize: '16' });
    const { port } = await client.take();
    client.ack(0, port);
    await client.take();
    // From now on the kernel answers that nobody is there.
    client.close();
    expect(await server.ended(name)).toMatchObject({ result: 'timeout' });
  });
});
