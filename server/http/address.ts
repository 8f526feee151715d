import type { FastifyRequest } from 'fastify';
import { plainAddress } from '../net/plain-address.ts';

/** Where a request came from, in the one spelling that addresses are kept and compared in. */
export function addressOf(request: Pick<FastifyRequest, 'socket'>): string {
  return plainAddress(request.socket.remoteAddress ?? '');
}
