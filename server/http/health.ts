import type { FastifyPluginAsync } from 'fastify';
import { PUBLIC } from './access.ts';
import type { HttpContext } from './context.ts';

/** For load balancers, init systems and people with curl. */
export const health =
  (context: HttpContext): FastifyPluginAsync =>
  async (app) => {
    app.get('/healthz', { config: PUBLIC }, async () => ({ ok: true, version: context.version }));
    app.get('/api/v1/server', { config: PUBLIC }, async () => ({
      version: context.version,
      startedAt: new Date(context.startedAt).toISOString(),
      advertise: context.advertise(),
      ports: context.ports(),
    }));
    app.get('/readyz', { config: PUBLIC }, async (_request, reply) => {
      const readiness = context.readiness();
      return reply.status(readiness.ready ? 200 : 503).send(readiness);
    });
  };
