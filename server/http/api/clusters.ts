import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { MAX_KUBECONFIG_HOURS } from '../../cluster/service.ts';
import { RailheadError } from '../../errors.ts';
import { findHost } from '../../machine/describe-host.ts';
import { ADMIN, PUBLIC } from '../access.ts';
import { addressOf } from '../address.ts';
import type { HttpContext } from '../context.ts';

/** Clusters: how they are, who gets in, and a new beginning. */
export const clustersApi =
  (context: HttpContext): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { clusters } = context;
    const params = Type.Object({ cluster: Type.String({ maxLength: 63 }) });

    app.get('/api/v1/clusters', { config: PUBLIC }, async () => clusters.list());
    app.get('/api/v1/clusters/:cluster', { config: PUBLIC, schema: { params } }, async (request) =>
      clusters.describe(request.params.cluster),
    );

    const hours = Type.Object({ hours: Type.String({ pattern: '^[0-9]{1,4}(\\.[0-9]+)?$', default: '8' }) });
    app.post(
      '/api/v1/clusters/:cluster/kubeconfig',
      { config: ADMIN, schema: { params, querystring: hours } },
      async (request, reply) => {
        const kubeconfig = await clusters.kubeconfig(request.params.cluster, {
          hours: hoursOf(request.query.hours),
          address: addressOf(request),
        });
        return reply.header('cache-control', 'no-store').send({ kubeconfig });
      },
    );

    const sure = Type.Object({ yes: Type.Literal(true), newSecrets: Type.Optional(Type.Boolean()) });
    app.post(
      '/api/v1/clusters/:cluster/reinit',
      { config: ADMIN, schema: { params, body: sure } },
      async (request) => {
        const { cluster } = request.params;
        await clusters.reinit(cluster, { newSecrets: request.body.newSecrets === true });
        return clusters.describe(cluster);
      },
    );
    app.post(
      '/api/v1/clusters/:cluster/tokens/rotate',
      { config: ADMIN, schema: { params } },
      async (request) => ({ tokens: await clusters.rotateTokens(request.params.cluster) }),
    );

    const host = Type.Object({ host: Type.String({ maxLength: 253 }) });
    app.get(
      '/api/v1/hosts/:host/kubeadm',
      { config: PUBLIC, schema: { params: host } },
      async (request, reply) => {
        const text = await clusters.preview(findHost(context.inventory.index, request.params.host));
        return reply.type('text/plain; charset=utf-8').send(text);
      },
    );
  };

function hoursOf(text: string): number {
  const hours = Number(text);
  if (hours > 0 && hours <= MAX_KUBECONFIG_HOURS) return hours;
  throw new RailheadError(
    'RH_USAGE',
    `hours: expected more than 0 and at most ${MAX_KUBECONFIG_HOURS}, got ${text}`,
  );
}
