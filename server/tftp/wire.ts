import type { Socket } from 'node:dgram';
import { MAX_SEGMENTS, MAX_SEND_BYTES, type SegmentationOffload } from './gso.ts';
import type { Wire } from './transfer.ts';

export interface Peer {
  address: string;
  port: number;
}

/** Sends a datagram at a time. What can't be sent is lost, as it may be on any network: the timer sends it again. */
export class PlainWire implements Wire {
  readonly #socket: Socket;
  readonly #peer: Peer;

  constructor(socket: Socket, peer: Peer) {
    this.#socket = socket;
    this.#peer = peer;
  }

  send(bytes: Buffer): void {
    this.#socket.send(bytes, this.#peer.port, this.#peer.address, ignore);
  }

  sendRun(bytes: Buffer, packetBytes: number): void {
    const { port, address } = this.#peer;
    for (let start = 0; start < bytes.length; start += packetBytes) {
      const length = Math.min(packetBytes, bytes.length - start);
      this.#socket.send(bytes, start, length, port, address, ignore);
    }
  }

  isIdle(): boolean {
    return this.#socket.getSendQueueSize() === 0;
  }
}

/** Sends whole windows at once where the kernel takes them; falls back for good at the first refusal. */
export class OffloadWire implements Wire {
  readonly #socket: Socket;
  readonly #peer: Peer;
  readonly #plain: PlainWire;
  readonly #offload: SegmentationOffload;
  #segment: number | undefined;
  #refused = false;

  constructor(socket: Socket, peer: Peer, offload: SegmentationOffload) {
    this.#socket = socket;
    this.#peer = peer;
    this.#offload = offload;
    this.#plain = new PlainWire(socket, peer);
  }

  send(bytes: Buffer): void {
    this.#plain.send(bytes);
  }

  sendRun(bytes: Buffer, packetBytes: number): void {
    if (bytes.length <= packetBytes) return this.#plain.send(bytes);
    if (!this.#canCut(packetBytes)) return this.#plain.sendRun(bytes, packetBytes);
    const packets = Math.min(MAX_SEGMENTS, Math.floor(MAX_SEND_BYTES / packetBytes));
    const step = packets * packetBytes;
    for (let start = 0; start < bytes.length; start += step) {
      const run = bytes.subarray(start, start + step);
      this.#socket.send(run, this.#peer.port, this.#peer.address, (error) => {
        if (error === null || this.#refused) return;
        // Such as a card that can't, or blocks that don't fit its frames.
        this.#refused = true;
        this.#offload.enable(this.#socket, 0);
        this.#plain.sendRun(run, packetBytes);
      });
    }
  }

  isIdle(): boolean {
    return this.#plain.isIdle();
  }

  #canCut(packetBytes: number): boolean {
    if (this.#refused) return false;
    if (this.#segment === packetBytes) return true;
    if (!this.#offload.enable(this.#socket, packetBytes)) {
      this.#refused = true;
      return false;
    }
    this.#segment = packetBytes;
    return true;
  }
}

function ignore(): void {}
