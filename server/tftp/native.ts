import type { Socket } from 'node:dgram';

/**
 * UDP segmentation offload: one `send` of a whole window, which the kernel cuts into datagrams. It needs a socket
 * option that Node has no call for, so it goes through koffi. Where koffi or the kernel lacks it, everything works
 * without, a datagram at a time; the bytes on the wire are the same.
 */
export interface SegmentationOffload {
  /** Makes the kernel cut what this socket sends into datagrams of that size. False when it won't. */
  enable(socket: Socket, datagramBytes: number): boolean;
}

const SOL_UDP = 17;
const UDP_SEGMENT = 103;

export async function loadSegmentationOffload(): Promise<SegmentationOffload | undefined> {
  if (process.platform !== 'linux') return undefined;
  try {
    const { default: koffi } = await import('koffi');
    const setsockopt = koffi
      .load(null)
      .func('int setsockopt(int fd, int level, int name, const void *value, uint32_t length)');
    return {
      enable(socket, datagramBytes) {
        // dgram doesn't tell its file descriptor; its handle does.
        const fd = (socket as unknown as { _handle?: { fd?: number } })._handle?.fd;
        if (fd === undefined || fd < 0) return false;
        const value = Buffer.alloc(4);
        value.writeInt32LE(datagramBytes);
        return setsockopt(fd, SOL_UDP, UDP_SEGMENT, value, value.length) === 0;
      },
    };
  } catch {
    return undefined;
  }
}

/** The kernel's limits for one send: segments, and bytes of a UDP datagram before it is cut up. */
export const MAX_SEGMENTS = 64;
export const MAX_SEND_BYTES = 65_000;
