import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { bearerOf } from '../agent/credentials.ts';
import type { Attempt } from '../boot/attempts.ts';
import { shortId } from '../boot/attempts.ts';
import { RailheadError } from '../errors.ts';
import type { Purpose } from '../ignition/delivery.ts';
import { pointerConfig } from '../ignition/pointer.ts';
import type { HostSpec } from '../inventory/model.ts';
import { MACHINE, PUBLIC } from './access.ts';
import { addressOf } from './agent.ts';
import type { HttpContext } from './context.ts';

export const IGNITION_TYPE = 'application/vnd.coreos.ignition+json';

const Token = Type.Object({ token: Type.String({ minLength: 22, maxLength: 22 }) });

/** Where the kernel's URL leads: plain HTTP, because Ignition can't be given a CA for it. */
export const pointerRoute =
  (context: HttpContext): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get(
      '/boot/:token/pointer.ign',
      { config: PUBLIC, schema: { params: Token } },
      async (request, reply) => {
        const { token } = request.params;
        const found = await context.boot.attemptOf(token);
        if (found === undefined) {
          throw new RailheadError(
            'RH_TOKEN_UNKNOWN',
            'This boot is over, or never was: the machine must boot anew.',
          );
        }
        const { attempt, host } = found;
        // Ignition gives this URL two minutes in all: what takes longer is waited for at the other one.
        const hash = await context.delivery.freeze(requestOf(attempt, host, token));
        await context.boot.reach(attempt.id, host, 'pointer-sent');
        const about = { host: host.name, attempt: shortId(attempt.id) };
        context.tlsWatch.expect(addressOf(request), about);
        const url = `${context.httpsUrl()}/boot/${token}/config.ign`;
        return reply
          .type(IGNITION_TYPE)
          .header('cache-control', 'no-store')
          .send(pointerConfig({ url, token, authority: context.authorityPem, hash }));
      },
    );
  };

/** The real configuration: only over TLS, and only to who shows the token in the header, too. */
export const configRoute =
  (context: HttpContext): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get(
      '/boot/:token/config.ign',
      { config: MACHINE, schema: { params: Token } },
      async (request, reply) => {
        const { token } = request.params;
        const address = addressOf(request);
        const credential =
          bearerOf(request.headers.authorization) === token
            ? await context.agents.credentials.find(token, ['attempt', 'first-boot'])
            : undefined;
        if (credential === undefined) throw context.agents.gate.refuseUnknown(address, 'configuration');
        await context.agents.gate.pass(credential, address, 'configuration');
        const { attempt, host, kind } = credential;
        const body =
          kind === 'attempt'
            ? await context.delivery.frozen(requestOf(attempt, host, token))
            : await context.delivery.current({ host, token, purpose: 'system' });
        await context.boot.reach(attempt.id, host, 'config-sent', { bytes: body.length, of: body.length });
        return reply.type(IGNITION_TYPE).header('cache-control', 'no-store').send(body);
      },
    );
  };

function requestOf(attempt: Attempt, host: HostSpec, token: string) {
  const purpose: Purpose = attempt.offer.action === 'install' ? 'installer' : 'system';
  return { attempt: attempt.id, host, token, purpose };
}
