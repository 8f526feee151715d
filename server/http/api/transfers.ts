import type { FastifyPluginAsync } from 'fastify';
import { PUBLIC } from '../access.ts';
import type { HttpContext } from '../context.ts';

/** Downloads that are under way; those that have ended are events. */
export const transfersApi =
  (context: HttpContext): FastifyPluginAsync =>
  async (app) => {
    app.get('/api/v1/transfers', { config: PUBLIC }, async () => context.transfers());
  };
