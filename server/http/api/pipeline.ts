import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { ADMIN, PUBLIC } from '../access.ts';
import type { HttpContext } from '../context.ts';
import { streamLog } from '../log-stream.ts';

const closed = { additionalProperties: false } as const;
const params = Type.Object({ cluster: Type.String({ maxLength: 63 }) });
const Step = Type.String({ pattern: '^[a-z0-9][a-z0-9._:-]{0,127}$' });
const MaybeStep = Type.Object({ step: Type.Optional(Step) }, closed);
const RunOrder = Type.Object({ step: Type.Optional(Step), anew: Type.Optional(Type.Boolean()) }, closed);
const LogQuery = Type.Object({
  step: Type.Optional(Step),
  after: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
});
const DEFAULT_LIMIT = 1000;

/** The post-install pipelines: how far they are, what they say, and what can be ordered. */
export const pipelineApi =
  (context: HttpContext): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { pipeline } = context;
    app.get('/api/v1/pipelines', { config: PUBLIC }, async () => pipeline.list());
    app.get('/api/v1/clusters/:cluster/pipeline', { config: PUBLIC, schema: { params } }, async (request) =>
      pipeline.status(request.params.cluster),
    );
    app.get(
      '/api/v1/clusters/:cluster/pipeline/logs',
      { config: PUBLIC, schema: { params, querystring: LogQuery } },
      async (request) => {
        const { cluster } = request.params;
        pipeline.assertCluster(cluster);
        const lines = await pipeline.logs.list({ cluster, limit: DEFAULT_LIMIT, ...request.query });
        return lines.map(({ id, at, step, text }) => ({
          name: String(id),
          id,
          at: new Date(at).toISOString(),
          step,
          text,
        }));
      },
    );
    app.get(
      '/api/v1/clusters/:cluster/pipeline/logs/stream',
      // A HEAD request would wait for an end that never comes.
      {
        config: PUBLIC,
        schema: { params, querystring: Type.Pick(LogQuery, ['step', 'after']) },
        exposeHeadRoute: false,
      },
      (request, reply) => {
        const { cluster } = request.params;
        pipeline.assertCluster(cluster);
        const resumed = String(request.headers['last-event-id'] ?? '');
        const after = /^\d{1,15}$/.test(resumed) ? Number(resumed) : request.query.after;
        reply.hijack();
        streamLog(pipeline.logs, { cluster, step: request.query.step, after }, reply.raw, context.stopSignal);
      },
    );
    app.post(
      '/api/v1/clusters/:cluster/pipeline/run',
      { config: ADMIN, schema: { params, body: RunOrder } },
      async (request) => {
        const { step, anew = false } = request.body;
        return pipeline.order(request.params.cluster, anew ? 'anew' : 'run', step);
      },
    );
    app.post(
      '/api/v1/clusters/:cluster/pipeline/retry',
      { config: ADMIN, schema: { params, body: MaybeStep } },
      async (request) => pipeline.order(request.params.cluster, 'retry', request.body.step),
    );
    app.post(
      '/api/v1/clusters/:cluster/pipeline/skip',
      { config: ADMIN, schema: { params, body: Type.Object({ step: Step }, closed) } },
      async (request) => pipeline.order(request.params.cluster, 'skip', request.body.step),
    );
  };
