import type { Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { endianness } from 'node:os';
import { DATA_HEADER_BYTES, writeDataHeader } from './codec.ts';
import type { Peer } from './peer.ts';
import type { Blocks } from './transfer.ts';

/**
 * Sends by the system's own `sendmsg`, called through koffi: a whole window at once, gathered from where the file lies
 * in memory and cut into datagrams by the kernel (UDP segmentation offload). Where koffi or the kernel lacks
 * something, everything works without, a datagram at a time; the bytes on the wire are the same.
 */
export interface NativeSender {
  /** The way to a peer; `undefined` when there is none by this means. It ends with the socket. */
  route(socket: Socket, peer: Peer): Route | undefined;
  /**
   * Sends the DATA packets of blocks `first` to `end - 1`. Returns the first block that there was no room for in the
   * socket's buffer; what can't be sent for another reason is lost, as it may be on any network.
   */
  sendBlocks(route: Route, blocks: Blocks, first: number, end: number): number;
}

export interface Route {
  fd: number;
  /** The peer, as a `struct sockaddr`. */
  name: Buffer;
  /** The kernel cuts datagrams here. */
  canCut: boolean;
}

/** The kernel's limits for one send: segments, and bytes of a UDP datagram before it is cut up. */
const MAX_SEGMENTS = 64;
const MAX_SEND_BYTES = 65_000;

const AF_INET = 2;
const AF_INET6 = 10;
const SOCK_DGRAM = 2;
const SOL_UDP = 17;
const UDP_SEGMENT = 103;
const MSG_DONTWAIT = 0x40;
/** EAGAIN and ENOBUFS: the buffer of the socket or the queue of the card is full. */
const FULL = [11, 105];

export async function loadNativeSender(): Promise<NativeSender | undefined> {
  // The structs below are those of 64-bit Linux.
  if (process.platform !== 'linux' || !['x64', 'arm64'].includes(process.arch) || endianness() !== 'LE') {
    return undefined;
  }
  try {
    const { default: koffi } = await import('koffi');
    const library = koffi.load(null);
    const sendmsg = library.func('long sendmsg(int fd, const void *message, int flags)');
    const inetPton = library.func('int inet_pton(int family, const char *text, void *bytes)');
    const indexOfInterface = library.func('uint32_t if_nametoindex(const char *name)');
    const kernelCuts = canCut(library);

    // One message for all: a send is over when the call returns.
    const headers = Buffer.alloc(MAX_SEGMENTS * DATA_HEADER_BYTES);
    // struct iovec (address, length), two for each packet: its header and its part of the file.
    const vectors = new Uint32Array(MAX_SEGMENTS * 8);
    for (let i = 0; i < MAX_SEGMENTS; i++) {
      writeAddress(vectors, i * 8, Number(koffi.address(headers)) + i * DATA_HEADER_BYTES);
      vectors[i * 8 + 2] = DATA_HEADER_BYTES;
    }
    // struct cmsghdr (length, level, type), and the size of a datagram.
    const control = new Uint32Array([18, 0, SOL_UDP, UDP_SEGMENT, 0, 0]);
    // struct msghdr: name, its length; vectors, their number; control, its length; flags.
    const message = new Uint32Array(14);
    writeAddress(message, 4, Number(koffi.address(vectors)));
    writeAddress(message, 8, Number(koffi.address(control)));

    return {
      route(socket, { address, port }) {
        const fd = descriptorOf(socket);
        if (fd === undefined) return undefined;
        const isV6 = isIPv6(address);
        const name = Buffer.alloc(isV6 ? 28 : 16);
        name.writeUInt16LE(isV6 ? AF_INET6 : AF_INET, 0);
        name.writeUInt16BE(port, 2);
        const [text, zone] = address.split('%');
        if (inetPton(isV6 ? AF_INET6 : AF_INET, text, name.subarray(isV6 ? 8 : 4)) !== 1) return undefined;
        if (zone !== undefined) name.writeUInt32LE(indexOfInterface(zone), 24);
        return { fd, name, canCut: kernelCuts };
      },

      sendBlocks(route, { content, blockSize }, first, end) {
        const packetBytes = blockSize + DATA_HEADER_BYTES;
        const contentAt = Number(koffi.address(content));
        writeAddress(message, 0, Number(koffi.address(route.name)));
        message[2] = route.name.length;
        control[4] = packetBytes;
        let block = first;
        while (block < end) {
          const most = route.canCut ? Math.min(MAX_SEGMENTS, Math.floor(MAX_SEND_BYTES / packetBytes)) : 1;
          const count = Math.max(1, Math.min(most, end - block));
          for (let i = 0; i < count; i++) {
            const from = (block + i - 1) * blockSize;
            writeDataHeader(headers, i * DATA_HEADER_BYTES, block + i);
            writeAddress(vectors, i * 8 + 4, contentAt + from);
            vectors[i * 8 + 6] = Math.min(blockSize, content.length - from);
          }
          message[6] = count * 2;
          message[10] = count > 1 ? control.byteLength : 0;
          const isSent = sendmsg(route.fd, message, MSG_DONTWAIT) >= 0;
          if (!isSent && FULL.includes(koffi.errno())) return block;
          // Such as a card that can't, or blocks that don't fit its frames: one at a time, then.
          if (!isSent && count > 1) route.canCut = false;
          else block += count;
        }
        return end;
      },
    };
  } catch {
    return undefined;
  }
}

/** Old kernels would ignore the wish, and send a window as one large datagram. */
function canCut(library: ReturnType<typeof import('koffi').load>): boolean {
  const fd: number = library.func('int socket(int, int, int)')(AF_INET, SOCK_DGRAM, 0);
  if (fd < 0) return false;
  const setsockopt = library.func('int setsockopt(int, int, int, const void *, uint32_t)');
  const result: number = setsockopt(fd, SOL_UDP, UDP_SEGMENT, new Int32Array([512]), 4);
  library.func('int close(int)')(fd);
  return result === 0;
}

function writeAddress(words: Uint32Array, index: number, address: number): void {
  words[index] = address % 2 ** 32;
  words[index + 1] = address / 2 ** 32;
}

/** dgram doesn't tell its file descriptor; the handle in its inner state does. */
function descriptorOf(socket: Socket): number | undefined {
  const symbol = Object.getOwnPropertySymbols(socket).find(
    ({ description }) => description === 'state symbol',
  );
  if (symbol === undefined) return undefined;
  const state = (socket as unknown as Record<symbol, { handle?: { fd?: number } } | undefined>)[symbol];
  const fd = state?.handle?.fd;
  return fd !== undefined && fd >= 0 ? fd : undefined;
}
