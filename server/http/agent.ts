import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { REPORTED_STAGES, type Stage } from '../boot/stages.ts';
import { RailheadError } from '../errors.ts';
import type { HttpContext } from './context.ts';

const StageReport = Type.Object({
  stage: Type.Enum([...REPORTED_STAGES]),
  bootId: Type.Optional(Type.String({ maxLength: 64 })),
  seq: Type.Optional(Type.Integer({ minimum: 0 })),
  at: Type.Optional(Type.String({ maxLength: 40 })),
  message: Type.Optional(Type.String({ maxLength: 500 })),
});

/** What hosts tell. The attempt's token is good for the stages of that attempt, and for nothing else. */
export const agentRoutes =
  (context: HttpContext): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post(
      '/agent/v1/stage',
      { config: { access: 'attempt' }, schema: { body: StageReport } },
      async (request) => {
        const token = /^Bearer ([\w-]{22})$/i.exec(request.headers.authorization ?? '')?.[1];
        const found = token === undefined ? undefined : await context.boot.attemptOf(token);
        if (found === undefined) {
          throw new RailheadError('RH_UNAUTHENTICATED', 'This needs the token of a boot that is under way.');
        }
        const { stage, message } = request.body;
        await context.boot.reach(found.attempt.token, found.host, stage as Stage, { message });
        return { ok: true };
      },
    );
  };
