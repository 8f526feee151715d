import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { PUBLIC } from '../access.ts';
import type { HttpContext } from '../context.ts';
import { streamEvents } from '../event-stream.ts';

const EventQuery = Type.Object({
  after: Type.Optional(Type.Integer({ minimum: 0 })),
  host: Type.Optional(Type.String()),
  kind: Type.Optional(Type.String()),
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 100 }),
});

/** The event log: a page of it, or live as server-sent events. */
export const eventsApi =
  (context: HttpContext): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get('/api/v1/events', { config: PUBLIC, schema: { querystring: EventQuery } }, async (request) =>
      context.events.list(request.query),
    );
    const filter = Type.Pick(EventQuery, ['after', 'host', 'kind']);
    app.get(
      '/api/v1/events/stream',
      { config: PUBLIC, schema: { querystring: filter } },
      (request, reply) => {
        const resumed = Number(request.headers['last-event-id']);
        const after = Number.isInteger(resumed) ? resumed : request.query.after;
        reply.hijack();
        streamEvents(context.events, { ...request.query, after }, reply.raw, context.stopSignal);
      },
    );
  };
