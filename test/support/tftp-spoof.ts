import type { Address } from './tftp-server.ts';

const AF_INET = 2;
const SOCK_RAW = 3;
const IPPROTO_UDP = 17;

/**
 * Sends a datagram that claims to come from another port, which takes a raw socket: root, Linux and koffi. The address
 * stays this machine's own. False when it can't be done here.
 */
export async function sendRaw(from: Address, to: Address, bytes: Buffer): Promise<boolean> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const koffi = await import('koffi').catch(() => undefined);
  if (koffi === undefined) return false;
  const library = koffi.default.load(null);
  const fd: number = library.func('int socket(int, int, int)')(AF_INET, SOCK_RAW, IPPROTO_UDP);
  if (fd < 0) return false;
  const header = Buffer.alloc(8); // without a checksum, which UDP allows
  header.writeUInt16BE(from.port, 0);
  header.writeUInt16BE(to.port, 2);
  header.writeUInt16BE(header.length + bytes.length, 4);
  const datagram = Buffer.concat([header, bytes]);
  const name = Buffer.from([AF_INET, 0, 0, 0, ...to.address.split('.').map(Number), 0, 0, 0, 0, 0, 0, 0, 0]);
  const sendto = library.func('long sendto(int, const void *, size_t, int, const void *, uint32_t)');
  const sent: number = Number(sendto(fd, datagram, datagram.length, 0, name, name.length));
  library.func('int close(int)')(fd);
  return sent === datagram.length;
}
