import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { systemCode } from '../errors.ts';

/** Which ports transfers use: any, one of a range (for firewalls), or the listening one (for NAT and containers). */
export type PortPolicy =
  | { kind: 'any' }
  | { kind: 'range'; first: number; last: number }
  | { kind: 'single' };

/** `any`, `single` or `50000-50999`. */
export function parsePortPolicy(text: string): PortPolicy {
  if (text === 'any' || text === 'single') return { kind: text };
  const [first = 0, last = 0] = text.split('-').map(Number);
  return { kind: 'range', first, last };
}

/** A socket for one transfer; `undefined` when every port of the range is taken. */
export class TransferSockets {
  readonly #bind: string;
  readonly #policy: Exclude<PortPolicy, { kind: 'single' }>;
  #nextPort: number;

  constructor(bind: string, policy: Exclude<PortPolicy, { kind: 'single' }>) {
    this.#bind = bind;
    this.#policy = policy;
    this.#nextPort = policy.kind === 'range' ? policy.first : 0;
  }

  async open(): Promise<Socket | undefined> {
    if (this.#policy.kind === 'any') return bindSocket(this.#bind, 0);
    const { first, last } = this.#policy;
    for (let tries = last - first; tries >= 0; tries--) {
      const port = this.#nextPort;
      // Round and round: a port rests before it is used again, so that late packets find nobody.
      this.#nextPort = port === last ? first : port + 1;
      try {
        return await bindSocket(this.#bind, port);
      } catch (error) {
        if (systemCode(error) !== 'EADDRINUSE') throw error;
      }
    }
    return undefined;
  }
}

export function makeSocket(bind: string): Socket {
  const type = isIPv6(bind) ? 'udp6' : 'udp4';
  return createSocket({
    type,
    // Peers are always addresses: there is nothing to look up.
    lookup: (host, _options, done) => done(null, host, type === 'udp6' ? 6 : 4),
  });
}

export function bindSocket(bind: string, port: number): Promise<Socket> {
  const socket = makeSocket(bind);
  return new Promise((resolve, reject) => {
    socket.once('error', (error) => {
      socket.close();
      reject(error);
    });
    socket.bind({ address: bind, port, exclusive: true }, () => {
      socket.removeAllListeners('error');
      socket.on('error', () => {}); // such as an ICMP "unreachable": the transfer's timer deals with silence
      resolve(socket);
    });
  });
}
