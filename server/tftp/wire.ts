import type { Socket } from 'node:dgram';
import { DATA_HEADER_BYTES, writeDataHeader } from './codec.ts';
import type { NativeSender, Route } from './native.ts';
import type { Peer } from './peer.ts';
import type { Blocks, Wire } from './transfer.ts';

/** Where datagrams are put together: one place is enough for all transfers. */
export class Scratch {
  #bytes = Buffer.alloc(0);

  /** At least that many bytes, to be overwritten. */
  take(length: number): Buffer {
    if (this.#bytes.length < length) this.#bytes = Buffer.allocUnsafeSlow(length);
    return this.#bytes;
  }

  /** The system still reads what was taken last: it must stay as it is. */
  giveAway(): void {
    this.#bytes = Buffer.alloc(0);
  }
}

/** Sends a datagram at a time. What can't be sent is lost, as it may be on any network: the timer sends it again. */
export class PlainWire implements Wire {
  readonly #socket: Socket;
  readonly #peer: Peer;
  readonly #scratch: Scratch;

  constructor(socket: Socket, peer: Peer, scratch: Scratch) {
    this.#socket = socket;
    this.#peer = peer;
    this.#scratch = scratch;
  }

  send(bytes: Buffer): void {
    this.#socket.send(bytes, this.#peer.port, this.#peer.address);
  }

  sendBlocks({ content, blockSize }: Blocks, first: number, end: number): void {
    const { port, address } = this.#peer;
    const packetBytes = blockSize + DATA_HEADER_BYTES;
    const bytes = this.#scratch.take((end - first) * packetBytes);
    for (let block = first, start = 0; block < end; block++, start += packetBytes) {
      writeDataHeader(bytes, start, block);
      const from = (block - 1) * blockSize;
      const length = content.copy(bytes, start + DATA_HEADER_BYTES, from, from + blockSize);
      this.#socket.send(bytes, start, DATA_HEADER_BYTES + length, port, address);
    }
    if (!this.isIdle()) this.#scratch.giveAway();
  }

  /** Nothing waits for room in the socket's buffer. */
  isIdle(): boolean {
    return this.#socket.getSendQueueCount() === 0;
  }
}

/** Sends whole windows at once. What there is no room for goes the plain way, which waits for it. */
export class NativeWire implements Wire {
  readonly #sender: NativeSender;
  readonly #route: Route;
  readonly #plain: PlainWire;
  #isWaiting = false;

  constructor(sender: NativeSender, route: Route, plain: PlainWire) {
    this.#sender = sender;
    this.#route = route;
    this.#plain = plain;
  }

  send(bytes: Buffer): void {
    this.#plain.send(bytes);
  }

  sendBlocks(blocks: Blocks, first: number, end: number): void {
    // Nothing overtakes what waits.
    const mustWait = this.#isWaiting && !this.#plain.isIdle();
    const left = mustWait ? first : this.#sender.sendBlocks(this.#route, blocks, first, end);
    this.#isWaiting = left < end;
    if (this.#isWaiting) this.#plain.sendBlocks(blocks, left, end);
  }
}
