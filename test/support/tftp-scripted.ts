import { createSocket, type Socket } from 'node:dgram';
import { encodeAck, encodeRequest, type Options, type Packet, parsePacket } from '../../server/tftp/codec.ts';
import { PATIENCE_MS } from './poll.ts';
import type { Address } from './tftp-server.ts';

export interface Received {
  packet: Packet | undefined;
  bytes: Buffer;
  /** The server's port that it came from. */
  port: number;
}

/** A client that does what a test tells it to, right or wrong: a packet out, a packet in. */
export class ScriptedClient {
  readonly server: Address;
  /** Everything that came. */
  readonly received: Received[] = [];
  readonly #socket: Socket;
  #taken = 0;
  #wake: (() => void) | undefined;

  static async open(server: Address, { address = '127.0.0.1', port = 0 } = {}): Promise<ScriptedClient> {
    const socket = createSocket('udp4');
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.bind(port, address, () => resolve());
    });
    return new ScriptedClient(server, socket);
  }

  private constructor(server: Address, socket: Socket) {
    this.server = server;
    this.#socket = socket;
    socket.on('message', (bytes, { port: from }) => {
      this.received.push({ packet: parsePacket(bytes), bytes, port: from });
      this.#wake?.();
    });
  }

  get port(): number {
    return this.#socket.address().port;
  }

  /** To the server's listening port, unless another is given. */
  send(bytes: Buffer, port = this.server.port): void {
    this.#socket.send(bytes, port, this.server.address);
  }

  read(filename: string, options: Options = {}, mode = 'octet'): void {
    this.send(encodeRequest({ type: 'read', filename, mode, options }));
  }

  ack(block: number, port: number): void {
    this.send(encodeAck(block), port);
  }

  /** The next packet that was not taken yet. */
  async take(milliseconds = PATIENCE_MS): Promise<Received> {
    const deadline = performance.now() + milliseconds;
    while (this.#taken === this.received.length) {
      const left = deadline - performance.now();
      if (left <= 0) throw new Error(`nothing came from the server in ${milliseconds} ms`);
      await this.#arrival(left);
    }
    return this.received[this.#taken++]!;
  }

  /** The next DATA packet of this block; a busy machine may have others sent twice. */
  async takeBlock(block: number): Promise<Received> {
    for (;;) {
      const received = await this.take();
      if (received.packet?.type === 'data' && received.packet.block === block) return received;
    }
  }

  /** Everything that comes in that time, and what had come before. */
  async takeAll(milliseconds: number): Promise<Received[]> {
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    const all = this.received.slice(this.#taken);
    this.#taken = this.received.length;
    return all;
  }

  close(): void {
    this.#socket.close();
  }

  #arrival(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

export interface DownloadOptions {
  blksize?: number;
  windowsize?: number;
  tsize?: boolean;
  mode?: 'octet' | 'netascii';
  /** The client's own address and port. */
  from?: { address?: string; port?: number };
  /** Each block is compared with this in place of being kept. */
  expected?: Buffer;
  deadlineMs?: number;
}

export interface Download {
  /** Empty when `expected` was given. */
  content: Buffer;
  bytes: number;
  isAsExpected: boolean;
  /** What the server agreed to. */
  options: Options;
  /** DATA packets, and how many of them had come before. */
  packets: number;
  repeated: number;
}

/** How long a silent server is waited for before the last packet is sent again. */
const REPEAT_MS = 1000;
/** How often that is done in vain before a download that has not begun is started over, as firmware does. */
const MAX_REPEATS = 4;

/** A whole download by a client that does everything right (RFC 1350, 2347, 7440). */
export async function download(
  server: Address,
  file: string,
  options: DownloadOptions = {},
): Promise<Download> {
  const { from, deadlineMs = 2 * PATIENCE_MS } = options;
  const socket = createSocket('udp4');
  let timer: NodeJS.Timeout | undefined;
  let deadline: NodeJS.Timeout | undefined;
  try {
    return await new Promise<Download>((resolve, reject) => {
      const reader = new Reader(options, file, resolve, reject);
      const say = (reply: Reply | undefined): void => {
        if (reply === undefined) return;
        clearTimeout(timer);
        timer = setTimeout(() => say(reader.onSilence()), REPEAT_MS);
        socket.send(reply.bytes, reply.port ?? server.port, server.address);
      };
      deadline = setTimeout(() => {
        reject(new Error(`${file} did not come in ${deadlineMs} ms; ${reader.progress}`));
      }, deadlineMs);
      socket.once('error', reject);
      socket.on('message', (bytes, { port }) => say(reader.onPacket(bytes, port)));
      socket.bind(from?.port ?? 0, from?.address ?? '127.0.0.1', () => say(reader.lastReply));
    });
  } finally {
    clearTimeout(timer);
    clearTimeout(deadline);
    socket.close();
  }
}

interface Reply {
  bytes: Buffer;
  /** The listening port as long as no other is known. */
  port: number | undefined;
}

/** The receiving side without a socket: packets in, replies out. */
class Reader {
  lastReply: Reply;
  readonly #request: Reply;
  readonly #expected: Buffer | undefined;
  readonly #resolve: (download: Download) => void;
  readonly #reject: (error: Error) => void;
  readonly #chunks: Buffer[] = [];
  #blockSize = 512;
  #windowSize = 1;
  #options: Options = {};
  #port: number | undefined;
  /** Blocks that came in order. */
  #blocks = 0;
  /** Of the current window. */
  #inWindow = 0;
  #complainedAt = -1;
  #silences = 0;
  #bytes = 0;
  #isAsExpected = true;
  #packets = 0;
  #repeated = 0;

  constructor(
    { blksize, windowsize, tsize, mode = 'octet', expected }: DownloadOptions,
    filename: string,
    resolve: (download: Download) => void,
    reject: (error: Error) => void,
  ) {
    const options = {
      ...(tsize ? { tsize: '0' } : {}),
      ...(blksize === undefined ? {} : { blksize: String(blksize) }),
      ...(windowsize === undefined ? {} : { windowsize: String(windowsize) }),
    };
    this.#request = { bytes: encodeRequest({ type: 'read', filename, mode, options }), port: undefined };
    this.lastReply = this.#request;
    this.#expected = expected;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  get progress(): string {
    const partner = this.#port === undefined ? 'nothing came' : `its partner is port ${this.#port}`;
    return `${partner}, ${this.#blocks} blocks came in order, ${this.#packets} packets in all`;
  }

  /**
   * What to say when nothing comes. A partner that never sent a block may be none: the server has given up, or it never
   * was about this download but about that of another client, which had this port a moment ago.
   */
  onSilence(): Reply {
    if (this.#blocks === 0 && ++this.#silences > MAX_REPEATS) {
      this.#silences = 0;
      this.#port = undefined;
      this.lastReply = this.#request;
    }
    return this.lastReply;
  }

  onPacket(bytes: Buffer, port: number): Reply | undefined {
    const packet = parsePacket(bytes);
    // Late packets for another client, which had this port a moment ago, begin nothing.
    if (packet?.type !== 'data' || packet.block === 1) this.#port ??= port;
    if (port !== this.#port) return undefined;
    switch (packet?.type) {
      case 'oack':
        return this.#onOack(packet.options);
      case 'data':
        return this.#onData(packet.block, packet.payload);
      case 'error':
        this.#reject(new Error(`error ${packet.code}: ${packet.message}`));
    }
    return undefined;
  }

  #onOack(options: Options): Reply | undefined {
    if (this.#blocks > 0) return undefined; // a late copy
    this.#options = { ...options };
    this.#blockSize = Number(options.blksize ?? 512);
    this.#windowSize = Number(options.windowsize ?? 1);
    return this.#ack();
  }

  #onData(wireBlock: number, payload: Buffer): Reply | undefined {
    this.#packets++;
    const ahead = (wireBlock - this.#blocks) & 0xffff;
    if (ahead !== 1) {
      if (ahead === 0 || ahead > 0x8000) this.#repeated++;
      // What was acknowledged comes again: the acknowledgement was lost.
      if (ahead === 0) return this.#inWindow === 0 ? this.lastReply : undefined;
      // Something is missing: say once what came last (RFC 7440).
      if (ahead > 0x8000) return undefined;
      if (this.#complainedAt === this.#blocks || this.#windowSize === 1) return undefined;
      this.#complainedAt = this.#blocks;
      return this.#ack();
    }
    this.#keep(payload);
    this.#blocks++;
    this.#inWindow++;
    const isLast = payload.length < this.#blockSize;
    if (isLast) this.#finish();
    return isLast || this.#inWindow === this.#windowSize ? this.#ack() : undefined;
  }

  #keep(payload: Buffer): void {
    if (this.#expected === undefined) this.#chunks.push(payload);
    else
      this.#isAsExpected &&= payload.equals(
        this.#expected.subarray(this.#bytes, this.#bytes + payload.length),
      );
    this.#bytes += payload.length;
  }

  #ack(): Reply {
    this.#inWindow = 0;
    this.lastReply = { bytes: encodeAck(this.#blocks), port: this.#port };
    return this.lastReply;
  }

  #finish(): void {
    // After the last acknowledgement has gone out.
    setImmediate(() =>
      this.#resolve({
        content: Buffer.concat(this.#chunks),
        bytes: this.#bytes,
        isAsExpected: this.#isAsExpected && this.#bytes === (this.#expected?.length ?? this.#bytes),
        options: this.#options,
        packets: this.#packets,
        repeated: this.#repeated,
      }),
    );
  }
}
