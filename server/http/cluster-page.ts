import type { FastifyPluginAsync } from 'fastify';
import { observeHosts } from '../machine/observe.ts';
import { clusterView } from '../web/cluster-view.ts';
import { loadView } from '../web/render.ts';
import { PUBLIC } from './access.ts';
import type { HttpContext } from './context.ts';
import { sendPage } from './send-page.ts';

const LOG_PIECES_SHOWN = 200;

/** The page of a cluster: its pipeline, with the log as it grows. */
export const clusterPage =
  (context: HttpContext): FastifyPluginAsync =>
  async (app) => {
    const render = loadView('cluster');
    app.get<{ Params: { cluster: string } }>(
      '/clusters/:cluster',
      { config: PUBLIC },
      async (request, reply) => {
        const { version, inventory, store } = context;
        const { clusters, hosts: all } = inventory.index.inventory;
        const wanted = request.params.cluster;
        const pipeline = await context.pipeline.status(wanted);
        const cluster = clusters.find(({ name }) => name === pipeline.name)!;
        const hosts = all.filter((host) => host.cluster === cluster.name && host.member);
        const [described, observed, log] = await Promise.all([
          context.clusters.describe(cluster.name),
          observeHosts(store.db, hosts, Date.now()),
          context.pipeline.logs.list({ cluster: cluster.name, limit: LOG_PIECES_SHOWN }),
        ]);
        return sendPage(
          reply,
          render(clusterView({ version, cluster, described, hosts, observed, pipeline, log })),
        );
      },
    );
  };
