import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { RailheadError } from '../errors.ts';
import { pointerConfig } from '../ignition/pointer.ts';
import { bearerOf, type Credential } from '../machine/credentials.ts';
import { factsOf, REPORTED_STAGES, type Stage } from '../machine/stages.ts';
import { MACHINE } from './access.ts';
import { addressOf } from './address.ts';
import type { HttpContext } from './context.ts';
import { IGNITION_TYPE } from './ignition.ts';

const StageReport = Type.Object({
  stage: Type.Enum([...REPORTED_STAGES]),
  bootId: Type.Optional(Type.String({ maxLength: 64 })),
  seq: Type.Optional(Type.Integer({ minimum: 0 })),
  at: Type.Optional(Type.String({ maxLength: 40 })),
  message: Type.Optional(Type.String({ maxLength: 500 })),
});

const Registration = Type.Object({
  /** Made on the machine, once for each boot: the same request again gets the same answer. */
  nonce: Type.String({ minLength: 16, maxLength: 128 }),
  uuid: Type.Optional(Type.String({ maxLength: 64 })),
  macs: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64 })),
  bootId: Type.Optional(Type.String({ maxLength: 64 })),
  agentVersion: Type.Optional(Type.String({ maxLength: 64 })),
  facts: Type.Optional(Type.Record(Type.String({ maxLength: 64 }), Type.String({ maxLength: 500 }))),
});

/** An agent is asked to speak this often. */
const POLL_SECONDS = 20;

/** What hosts tell about their boot. The token of a boot is good for its stages over plain HTTP, too. */
export const agentRoutes =
  (context: HttpContext, { secure }: { secure: boolean }): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post('/agent/v1/stage', { config: MACHINE, schema: { body: StageReport } }, async (request) => {
      const kinds: Credential['kind'][] = secure ? ['agent', 'attempt', 'first-boot'] : ['attempt'];
      const credential = await credentialOf(context, request, kinds);
      const { attempt, host } = credential;
      const { message } = request.body;
      const stage = request.body.stage as Stage;
      await assertProven(context, credential, stage, { secure, address: addressOf(request) });
      await context.boot.reach(attempt.id, host, stage, { message });
      return { ok: true };
    });
  };

/** What carries secrets, or leads to them: only where TLS keeps it. */
export const secureAgentRoutes =
  (context: HttpContext): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post('/agent/v1/register', { config: MACHINE, schema: { body: Registration } }, async (request) => {
      const credential = await credentialOf(context, request, ['attempt', 'first-boot']);
      const address = addressOf(request);
      await context.agents.gate.pass(credential, address, 'registration');
      const { host, attempt, token } = credential;
      const own = await context.agents.registrations.register({
        host,
        attempt: attempt.id,
        credential: token,
        nonce: request.body.nonce,
        address,
        data: request.body.facts?.data,
        wipe: attempt.offer.wipe,
      });
      return { host: host.name, token: own, pollSeconds: POLL_SECONDS };
    });

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
      await context.agents.gate.pass(credential, addressOf(request), 'token for the first boot');
      const token = await context.agents.firstBoots.issue(host, attempt.id);
      const url = `${context.httpsUrl()}/boot/${token}/config.ign`;
      return reply.type(IGNITION_TYPE).send(pointerConfig({ url, token, authority: context.authorityPem }));
    });
  };

/** What ends a token, or what a boot was made for, is not believed of everybody who has heard the token. */
async function assertProven(
  { agents: { gate } }: HttpContext,
  credential: Credential,
  stage: Stage,
  { secure, address }: { secure: boolean; address: string },
): Promise<void> {
  const { proof } = factsOf(stage);
  const what = `report of ${stage}`;
  gate.assertFresh(credential, address, what);
  if (proof === undefined || credential.kind === 'agent') return;
  if (proof === 'tls' && secure) return gate.pass(credential, address, what);
  const how = proof === 'tls' ? 'over HTTPS' : 'with the token that the host got when it registered';
  throw new RailheadError('RH_TOKEN_REFUSED', `The stage ${stage} has to be reported ${how}.`);
}

/** Whose token the request shows; throws when it is none of these kinds. */
export async function credentialOf(
  context: HttpContext,
  request: FastifyRequest,
  kinds: readonly Credential['kind'][],
): Promise<Credential> {
  const token = bearerOf(request.headers.authorization);
  const found = token === undefined ? undefined : await context.agents.credentials.find(token, kinds);
  if (found !== undefined) return found;
  throw new RailheadError('RH_UNAUTHENTICATED', 'This needs the token of a boot that is under way.');
}
