import { endianness } from 'node:os';
import koffi from 'koffi';

/**
 * UDP as the kernel has it, for a client that must never be slower than the servers it measures: node:dgram takes some
 * 8 µs for a packet, this takes one.
 */
const library = koffi.load(null);
const bound = <T>(definition: string): T => library.func(definition) as unknown as T;

const calls = {
  socket: bound<(family: number, type: number, protocol: number) => number>('int socket(int, int, int)'),
  connect: bound<(fd: number, name: Buffer, length: number) => number>(
    'int connect(int, const void *, uint32_t)',
  ),
  send: bound<(fd: number, bytes: Buffer, length: number, flags: number) => number>(
    'long send(int, const void *, size_t, int)',
  ),
  sendto: bound<
    (fd: number, bytes: Buffer, length: number, flags: number, name: Buffer, nameBytes: number) => number
  >('long sendto(int, const void *, size_t, int, const void *, uint32_t)'),
  recvfrom: bound<
    (fd: number, bytes: Buffer, length: number, flags: number, name: Buffer, nameBytes: Buffer) => number
  >('long recvfrom(int, void *, size_t, int, void *, void *)'),
  recvmmsg: bound<(fd: number, headers: Buffer, count: number, flags: number, timeout: null) => number>(
    'int recvmmsg(int, void *, unsigned int, int, void *)',
  ),
  close: bound<(fd: number) => number>('int close(int)'),
  epollCreate: bound<(flags: number) => number>('int epoll_create1(int)'),
  epollControl: bound<(epoll: number, operation: number, fd: number, event: Buffer) => number>(
    'int epoll_ctl(int, int, int, void *)',
  ),
  epollWait: bound<(epoll: number, events: Buffer, count: number, milliseconds: number) => number>(
    'int epoll_wait(int, void *, int, int)',
  ),
  ppoll: bound<(fds: Buffer, count: number, timeout: Buffer, signals: null) => number>(
    'int ppoll(void *, unsigned long, const void *, const void *)',
  ),
};

const AF_INET = 2;
const SOCK_DGRAM = 2;
const MSG_DONTWAIT = 0x40;
const EPOLLIN = 1;
const EPOLL_CTL_ADD = 1;
/** The kernel packs this struct on x86 only. */
const EVENT = process.arch === 'x64' ? { bytes: 12, data: 4 } : { bytes: 16, data: 8 };
const MAX_EVENTS = 256;
const SHORT_WAIT_MS = 20;
if (endianness() !== 'LE') throw new Error('structs are written for little-endian machines');

/** `struct sockaddr_in`. */
export function socketName(address: string, port: number): Buffer {
  const name = Buffer.alloc(16);
  name.writeUInt16LE(AF_INET, 0);
  name.writeUInt16BE(port, 2);
  name.set(address.split('.').map(Number), 4);
  return name;
}

export function openSocket(): number {
  return checked('socket', calls.socket(AF_INET, SOCK_DGRAM, 0));
}

export function connectSocket(fd: number, name: Buffer): void {
  checked('connect', calls.connect(fd, name, name.length));
}

export function closeSocket(fd: number): void {
  calls.close(fd);
}

/** What can't be sent is lost, as on any network. */
export function sendPacket(fd: number, bytes: Buffer): void {
  calls.send(fd, bytes, bytes.length, MSG_DONTWAIT);
}

export function sendPacketTo(fd: number, bytes: Buffer, name: Buffer): void {
  calls.sendto(fd, bytes, bytes.length, MSG_DONTWAIT, name, name.length);
}

/** The next packet and where it came from. */
export function receiveFrom(fd: number, packet: Buffer): { length: number; name: Buffer } | undefined {
  const name = Buffer.alloc(16);
  const nameBytes = Buffer.alloc(4);
  nameBytes.writeUInt32LE(name.length);
  const length = calls.recvfrom(fd, packet, packet.length, MSG_DONTWAIT, name, nameBytes);
  return length < 0 ? undefined : { length, name };
}

/** Takes many packets with one call. */
export class Receiver {
  static readonly packets = 64;
  readonly #bytes: Buffer;
  readonly #packetBytes: number;
  readonly #headers = Buffer.alloc(Receiver.packets * 64); // struct mmsghdr
  readonly #vectors = Buffer.alloc(Receiver.packets * 16); // struct iovec

  constructor(packetBytes: number) {
    this.#packetBytes = packetBytes;
    this.#bytes = Buffer.alloc(Receiver.packets * packetBytes);
    for (let i = 0; i < Receiver.packets; i++) {
      this.#vectors.writeBigUInt64LE(koffi.address(this.#bytes) + BigInt(i * packetBytes), i * 16);
      this.#vectors.writeBigUInt64LE(BigInt(packetBytes), i * 16 + 8);
      this.#headers.writeBigUInt64LE(koffi.address(this.#vectors) + BigInt(i * 16), i * 64 + 16);
      this.#headers.writeBigUInt64LE(1n, i * 64 + 24);
    }
  }

  /** Calls back for each packet that is there now, with where it lies in the buffer. */
  receive(fd: number, onPacket: (bytes: Buffer, start: number, length: number) => void): void {
    const count = calls.recvmmsg(fd, this.#headers, Receiver.packets, MSG_DONTWAIT, null);
    for (let i = 0; i < count; i++) {
      onPacket(this.#bytes, i * this.#packetBytes, this.#headers.readUInt32LE(i * 64 + 56));
    }
  }
}

/** Waits for sockets. */
export class Poller {
  readonly #epoll = checked('epoll_create1', calls.epollCreate(0));
  readonly #event = Buffer.alloc(EVENT.bytes);
  readonly #events = Buffer.alloc(MAX_EVENTS * EVENT.bytes);
  readonly #self = Buffer.alloc(8); // struct pollfd of the epoll itself
  readonly #timeout = Buffer.alloc(16); // struct timespec

  constructor() {
    this.#self.writeInt32LE(this.#epoll, 0);
    this.#self.writeInt16LE(EPOLLIN, 4);
  }

  /** `tag` comes back from `wait`. */
  add(fd: number, tag: number): void {
    this.#event.writeUInt32LE(EPOLLIN, 0);
    this.#event.writeUInt32LE(tag, EVENT.data);
    checked('epoll_ctl', calls.epollControl(this.#epoll, EPOLL_CTL_ADD, fd, this.#event));
  }

  /** Calls back with the tags of sockets that have packets. Short waits are precise to the microsecond. */
  wait(milliseconds: number, onReady: (tag: number) => void): void {
    const isShort = milliseconds < SHORT_WAIT_MS;
    if (isShort) {
      this.#timeout.writeBigInt64LE(BigInt(Math.floor(Math.max(0, milliseconds) * 1e6)), 8);
      calls.ppoll(this.#self, 1, this.#timeout, null);
    }
    const count = calls.epollWait(this.#epoll, this.#events, MAX_EVENTS, isShort ? 0 : milliseconds);
    for (let i = 0; i < count; i++) onReady(this.#events.readUInt32LE(i * EVENT.bytes + EVENT.data));
  }
}

function checked(what: string, result: number): number {
  if (result < 0) throw new Error(`${what}: error ${koffi.errno()}`);
  return result;
}
