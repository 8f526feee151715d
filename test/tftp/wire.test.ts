import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:dgram';
import { once } from 'node:events';
import { networkInterfaces } from 'node:os';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parsePacket } from '../../server/tftp/codec.ts';
import { loadNativeSender, type NativeSender } from '../../server/tftp/native.ts';
import type { Peer } from '../../server/tftp/peer.ts';
import { bindSocket } from '../../server/tftp/sockets.ts';
import type { Wire } from '../../server/tftp/transfer.ts';
import { NativeWire, PlainWire, Scratch } from '../../server/tftp/wire.ts';

const native = await loadNativeSender();
const hasV6 = networkInterfaces().lo?.some(({ family }) => family === 'IPv6') ?? false;
const addresses = hasV6 ? ['127.0.0.1', '::1'] : ['127.0.0.1'];
let server: Socket;
let client: Socket;

describe.each(addresses)('what goes out, over %s', (address) => {
  let peer: Peer;

  beforeEach(async () => {
    server = await bindSocket(address, 0);
    client = await bindSocket(address, 0);
    client.setRecvBufferSize(1024 * 1024);
    peer = { address, port: client.address().port };
  });

  afterEach(() => {
    server.close();
    client.close();
  });

  const plainWire = (): PlainWire => new PlainWire(server, peer, new Scratch());
  const nativeWire = (sender: NativeSender): NativeWire =>
    new NativeWire(sender, sender.route(server, peer)!, plainWire());

  const ways: [string, () => Wire][] = [['a datagram at a time', plainWire]];
  if (native !== undefined) {
    ways.push(
      ['a window at a time', () => nativeWire(native)],
      ['where the kernel does not cut', () => nativeWire(uncut(native))],
      ['when the buffer is full', () => nativeWire(full(native))],
    );
  }

  it.each(ways)('%s: the blocks in order, the last one shorter', async (_way, makeWire) => {
    const content = randomBytes(10 * 1428 + 100);
    const wire = makeWire();
    wire.sendBlocks({ content, blockSize: 1428 }, 2, 9);
    wire.sendBlocks({ content, blockSize: 1428 }, 9, 12);
    const packets = await receive(10);
    expect(packets.map(({ block }) => block)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(Buffer.concat(packets.map(({ payload }) => payload))).toEqual(content.subarray(1428));
  });

  it.each(ways)('%s: an empty last block, and an empty file', async (_way, makeWire) => {
    const wire = makeWire();
    const content = randomBytes(1024);
    wire.sendBlocks({ content, blockSize: 512 }, 1, 4);
    wire.sendBlocks({ content: Buffer.alloc(0), blockSize: 512 }, 1, 2);
    const packets = await receive(4);
    expect(packets.map(({ block, payload }) => [block, payload.length])).toEqual([
      [1, 512],
      [2, 512],
      [3, 0],
      [1, 0],
    ]);
  });

  it.each(ways)('%s: more than a send can hold, over the end of 16 bits', async (_way, makeWire) => {
    const content = randomBytes(65_600 * 8);
    makeWire().sendBlocks({ content, blockSize: 8 }, 65_500, 65_601);
    const packets = await receive(101);
    expect(packets[0]!.block).toBe(65_500);
    expect(packets.at(-1)!.block).toBe(65_600 - 65_536);
    expect(Buffer.concat(packets.map(({ payload }) => payload))).toEqual(content.subarray(65_499 * 8));
  });
});

/** Takes two blocks of each window, as if there were no room for more. */
function full(sender: NativeSender): NativeSender {
  return {
    ...sender,
    sendBlocks: (route, blocks, first, end) =>
      sender.sendBlocks(route, blocks, first, Math.min(end, first + 2)),
  };
}

function uncut(sender: NativeSender): NativeSender {
  return {
    ...sender,
    route: (socket, peer) => ({ ...sender.route(socket, peer)!, canCut: false }),
  };
}

async function receive(count: number): Promise<{ block: number; payload: Buffer }[]> {
  const packets: { block: number; payload: Buffer }[] = [];
  while (packets.length < count) {
    const [bytes] = (await once(client, 'message')) as [Buffer];
    const packet = parsePacket(bytes);
    if (packet?.type !== 'data') throw new Error('not a DATA packet');
    packets.push(packet);
  }
  return packets;
}
