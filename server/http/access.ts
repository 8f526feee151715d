import { isIP } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { matchesAny } from '../access/admin-token.ts';
import { RailheadError } from '../errors.ts';
import { isLoopback } from '../net/advertise.ts';
import type { HttpContext } from './context.ts';

/**
 * Who may call a route. Every route says so in its `config`; one that doesn't is a start-up error, so that nothing
 * is left open by forgetting.
 * - `public`: reads what anyone on the network may see.
 * - `machine`: takes the token of a boot that is under way or of a machine, and checks it itself.
 * - `admin`: changes something or reveals a secret.
 */
export type Access = 'public' | 'machine' | 'admin';

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
  }
}

export const PUBLIC = { access: 'public' } as const;
export const MACHINE = { access: 'machine' } as const;
export const ADMIN = { access: 'admin' } as const;

/** Puts the guard on every route that is registered after it. */
export function guardRoutes(
  app: FastifyInstance,
  context: HttpContext,
  { secure }: { secure: boolean },
): void {
  app.addHook('onRoute', (route) => {
    const access = route.config?.access;
    if (access === undefined) {
      throw new Error(
        `route ${String(route.method)} ${route.url} doesn't say who may call it (config.access)`,
      );
    }
  });
  // With a callback: most requests need no guard, and a promise for each of them would cost more than the check.
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.routeOptions.config.access !== 'admin') return done();
    assertAdmin(request, context, { secure }).then(() => done(), done);
  });
}

/** For who may change everything and see every secret. */
export async function assertAdmin(
  request: FastifyRequest,
  context: HttpContext,
  { secure }: { secure: boolean },
): Promise<void> {
  if (!secure && !isFromHere(request)) {
    throw new RailheadError(
      'RH_FORBIDDEN',
      'This is refused over plain HTTP, except from this machine itself.',
      {
        hint: 'Use the HTTPS address, with the CA certificate from the data folder (keys/ca.pem).',
      },
    );
  }
  assertOwnHost(request, context.ownNames());
  await assertToken(request, context);
}

/** From this machine itself, whichever of its addresses it used. */
function isFromHere({ socket: { remoteAddress = '', localAddress } }: FastifyRequest): boolean {
  return isLoopback(remoteAddress) || remoteAddress === localAddress;
}

/** A page on another site must not be able to make a browser act here, by its Origin or by rebinding a name. */
function assertOwnHost(request: FastifyRequest, ownNames: readonly string[]): void {
  const host = hostNameOf(`http://${request.headers.host ?? ''}`);
  const isOwn =
    host !== undefined &&
    (isIP(host) !== 0 || host === 'localhost' || ownNames.some((name) => name.toLowerCase() === host));
  if (!isOwn) {
    throw new RailheadError(
      'RH_FORBIDDEN',
      `The Host header "${request.headers.host ?? ''}" is not a name of this server.`,
      {
        hint: 'Use its address, or set --advertise to the name that you use.',
      },
    );
  }
  const { origin } = request.headers;
  if (origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== request.headers.host)) {
    throw new RailheadError('RH_FORBIDDEN', 'A page of another site asked for this.');
  }
}

async function assertToken(request: FastifyRequest, context: HttpContext): Promise<void> {
  const [scheme, token] = (request.headers.authorization ?? '').split(' ');
  if (scheme?.toLowerCase() !== 'bearer' || token === undefined) {
    throw new RailheadError('RH_UNAUTHENTICATED', 'This needs the admin token.', {
      hint: 'Send "Authorization: Bearer TOKEN"; the token is in keys/admin-token in the data folder.',
    });
  }
  if (!matchesAny(token, await context.adminTokenHashes())) {
    throw new RailheadError('RH_UNAUTHENTICATED', 'The admin token is not right.');
  }
}

function hostNameOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).hostname.replaceAll(/[[\]]/g, '') : undefined;
}
