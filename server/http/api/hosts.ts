import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { describeHost, findHost, summariseHost } from '../../lifecycle/describe-host.ts';
import { PUBLIC } from '../access.ts';
import type { HttpContext } from '../context.ts';

export const hostsApi =
  (context: HttpContext): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get('/api/v1/hosts', { config: PUBLIC }, async () =>
      context.inventory.index.inventory.hosts.map(summariseHost),
    );
    const params = Type.Object({ host: Type.String({ maxLength: 253 }) });
    app.get('/api/v1/hosts/:host', { config: PUBLIC, schema: { params } }, async (request) => {
      const host = findHost(context.inventory.index, request.params.host);
      const events = await context.events.list({ host: host.name, limit: 50 });
      return { ...describeHost(host), events };
    });
  };
