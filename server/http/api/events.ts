import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { PUBLIC } from '../access.ts';
import type { HttpContext } from '../context.ts';
import { streamEvents } from '../event-stream.ts';

const DEFAULT_LIMIT = 100;

/** No database takes a zero byte in a text. */
const text = () => Type.Optional(Type.String({ maxLength: 253, pattern: '^[^\\u0000]*$' }));

const EventQuery = Type.Object({
  after: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  host: text(),
  kind: text(),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
});

/** The event log: a page of it, or live as server-sent events. */
export const eventsApi =
  (context: HttpContext): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get('/api/v1/events', { config: PUBLIC, schema: { querystring: EventQuery } }, async (request) =>
      context.events.list({ ...request.query, limit: request.query.limit ?? DEFAULT_LIMIT }),
    );
    const filter = Type.Pick(EventQuery, ['after', 'host', 'kind']);
    app.get(
      '/api/v1/events/stream',
      // A HEAD request would wait for an end that never comes.
      { config: PUBLIC, schema: { querystring: filter }, exposeHeadRoute: false },
      (request, reply) => {
        const resumed = String(request.headers['last-event-id'] ?? '');
        const after = /^\d{1,15}$/.test(resumed) ? Number(resumed) : request.query.after;
        reply.hijack();
        streamEvents(context.events, { ...request.query, after }, reply.raw, context.stopSignal);
      },
    );
  };
