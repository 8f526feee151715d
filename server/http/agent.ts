import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { RailheadError } from '../errors.ts';
import { pointerConfig } from '../ignition/pointer.ts';
import { bearerOf, type Credential } from '../machine/credentials.ts';
import { REPORTED_STAGES, type Stage } from '../machine/stages.ts';
import { MACHINE } from './access.ts';
import { addressOf } from './address.ts';
import type { HttpContext } from './context.ts';
import { IGNITION_TYPE } from './ignition.ts';

const text = (maxLength: number) => Type.Optional(Type.String({ maxLength }));

const StageReport = Type.Object({
  stage: Type.Enum([...REPORTED_STAGES]),
  bootId: text(64),
  seq: Type.Optional(Type.Integer({ minimum: 0 })),
  at: text(40),
  message: text(500),
});

const Registration = Type.Object({
  /** Made on the machine, once, and kept there: what it is known by. */
  secret: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  bootId: Type.String({ minLength: 1, maxLength: 64 }),
  agentVersion: text(64),
  hardware: Type.Optional(Type.Object({ uuid: text(64), serial: text(128) })),
  /** What the data partition says of itself. */
  partition: Type.Optional(
    Type.Object({ host: Type.String({ maxLength: 253 }), generation: Type.Integer({ minimum: 0 }) }),
  ),
  facts: Type.Optional(Type.Record(Type.String({ maxLength: 64 }), Type.String({ maxLength: 500 }))),
});

const Heartbeat = Type.Object({
  bootId: text(64),
  versions: Type.Optional(Type.Record(Type.String({ maxLength: 64 }), Type.String({ maxLength: 64 }))),
  rebooting: Type.Optional(Type.Boolean()),
});

/** What hosts tell about their boot. The token of a boot is good for its stages over plain HTTP, too. */
export const agentRoutes =
  (context: HttpContext, { secure }: { secure: boolean }): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post('/agent/v1/stage', { config: MACHINE, schema: { body: StageReport } }, async (request) => {
      const kinds: Credential['kind'][] = secure ? ['agent', 'attempt', 'first-boot'] : ['attempt'];
      const credential = await credentialOf(context, request, kinds);
      const { message } = request.body;
      const details = { message, secure, address: addressOf(request) };
      await context.machines.report(credential, request.body.stage as Stage, details);
      return { ok: true };
    });
  };

/** What carries secrets, or leads to them: only where TLS keeps it. */
export const secureAgentRoutes =
  (context: HttpContext): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { machines } = context;

    app.post(
      '/agent/v1/register',
      { config: MACHINE, schema: { body: Registration } },
      async (request, reply) => {
        const token = bearerOf(request.headers.authorization);
        const registered = await machines.register(token, request.body, addressOf(request));
        return answer(request, reply, { ...registered, interval: machines.intervalSeconds });
      },
    );

    app.post(
      '/agent/v1/heartbeat',
      { config: MACHINE, schema: { body: Heartbeat } },
      async (request, reply) => {
        await machines.heartbeat(await credentialOf(context, request, ['agent']), request.body);
        return answer(request, reply, { interval: machines.intervalSeconds });
      },
    );

    // The installer writes this to the disk: where the installed system gets its configuration at its first boot.
    app.post('/agent/v1/first-boot', { config: MACHINE }, async (request, reply) => {
      const credential = await credentialOf(context, request, ['attempt']);
      const { host, attempt } = credential;
      if (attempt.offer.action !== 'install') {
        throw new RailheadError(
          'RH_FORBIDDEN',
          `${host.name} runs from RAM: it has no first boot from disk.`,
        );
      }
      await machines.gate.pass(credential, addressOf(request), 'token for the first boot');
      const token = await machines.firstBoots.issue(host, attempt.id);
      const url = `${context.httpsUrl()}/boot/${token}/config.ign`;
      return reply.type(IGNITION_TYPE).send(pointerConfig({ url, token, authority: context.authorityPem }));
    });
  };

/** As JSON, or as `key=value` lines for a shell. */
function answer(request: FastifyRequest, reply: FastifyReply, values: Record<string, string | number>) {
  reply.header('cache-control', 'no-store');
  if (request.headers.accept !== 'text/plain') return reply.send(values);
  const lines = Object.entries(values).map(([name, value]) => `${name}=${value}\n`);
  return reply.type('text/plain; charset=utf-8').send(lines.join(''));
}

/** Whose token the request shows; throws when it is not one of these kinds. */
export async function credentialOf<Kind extends Credential['kind']>(
  { machines }: HttpContext,
  request: FastifyRequest,
  kinds: readonly Kind[],
): Promise<Extract<Credential, { kind: Kind }>> {
  const token = bearerOf(request.headers.authorization);
  const found = token === undefined ? undefined : await machines.credentials.find(token, kinds);
  if (found !== undefined) return found;
  throw new RailheadError('RH_UNAUTHENTICATED', 'This needs the token of a boot that is under way.');
}
