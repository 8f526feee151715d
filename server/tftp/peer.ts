import { plainAddress } from '../net/plain-address.ts';

/** Who a datagram comes from, and goes to. */
export interface Peer {
  address: string;
  port: number;
}

/** UDP allows packets from port 0, which nothing can be sent to: trying throws. */
export function canBeAnswered({ port }: Peer): boolean {
  return port !== 0;
}

export function keyOf({ address, port }: Peer): string {
  return `${address} ${port}`;
}

export function clientName({ address, port }: Peer): string {
  const plain = plainAddress(address);
  return `${plain.includes(':') ? `[${plain}]` : plain}:${port}`;
}

/** What came from the network, for logs and events. */
export function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 255);
}
