import type { Server as HttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { ServerCertificate } from '../access/certificate.ts';
import { RailheadError, systemCode } from '../errors.ts';
import { plainAddress } from '../net/plain-address.ts';

/** How long requests that are under way may still take when the server stops. */
const GRACE_MS = 2500;

/** One app on one port. */
export class HttpListener {
  readonly #app: FastifyInstance;
  /** All of them. Node itself doesn't count those that have not finished their TLS handshake, yet waits for them. */
  readonly #connections = new Set<Socket>();

  constructor(app: FastifyInstance) {
    this.#app = app;
  }

  /** Returns the port: the one asked for, or the one that was free when that was 0. */
  async start(bind: string, port: number, flag: '--http-port' | '--https-port'): Promise<number> {
    this.#app.server.on('connection', (socket) => {
      this.#connections.add(socket);
      socket.once('close', () => this.#connections.delete(socket));
    });
    try {
      await this.#app.listen({ host: bind, port });
    } catch (error) {
      throw explain(error, bind, port, flag);
    }
    return (this.#app.server.address() as AddressInfo).port;
  }

  /** From the next connection on. */
  useCertificate(certificate: ServerCertificate): void {
    (this.#app.server as unknown as HttpsServer).setSecureContext(certificate);
  }

  /** Somebody could not finish the handshake. */
  onTlsFailure(listener: (address: string, reason: string) => void): void {
    this.#app.server.on('tlsClientError', (error: Error, socket: Socket) => {
      listener(plainAddress(socket.remoteAddress ?? ''), systemCode(error) ?? error.message);
    });
  }

  async stop(): Promise<void> {
    const deadline = setTimeout(() => {
      for (const socket of this.#connections) socket.destroy();
    }, GRACE_MS);
    await this.#app.close();
    clearTimeout(deadline);
  }
}

function explain(error: unknown, bind: string, port: number, flag: string): unknown {
  const reasons: Record<string, [string, string]> = {
    EADDRINUSE: [
      `Another program uses TCP port ${port}.`,
      `Find it with \`ss -ltnp 'sport = :${port}'\` and stop it, or choose another port with ${flag}.`,
    ],
    EACCES: [
      `No right to listen on TCP port ${port}.`,
      `Ports below 1024 need a right: choose another with ${flag}, or grant cap_net_bind_service.`,
    ],
    EADDRNOTAVAIL: [
      `This machine has no address ${bind} to listen on.`,
      'Set --bind to one of its addresses, or to 0.0.0.0 for all.',
    ],
  };
  const code = systemCode(error) ?? '';
  // A family that the machine lacks, a link-local address without its interface …
  const isAddress = ['EINVAL', 'EAFNOSUPPORT', 'ENOTFOUND'].includes(code);
  const known = reasons[isAddress ? 'EADDRNOTAVAIL' : code];
  if (known === undefined) return error;
  return new RailheadError('RH_PORT_UNUSABLE', known[0], { hint: known[1], cause: error });
}
