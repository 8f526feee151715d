import type { FastifyPluginAsync } from 'fastify';
import { findHost } from '../machine/describe-host.ts';
import { observeHost, observeHosts } from '../machine/observe.ts';
import { hostView } from '../web/host-view.ts';
import { loadStatic, loadView } from '../web/render.ts';
import { statusView } from '../web/status-view.ts';
import { PUBLIC } from './access.ts';
import type { HttpContext } from './context.ts';
import { sendPage } from './send-page.ts';

const EVENTS_SHOWN = 30;
const STATIC = {
  'style.css': 'text/css',
  'live.js': 'text/javascript',
  'log.js': 'text/javascript',
} as const;

/** Pages for people. Everything is ours and in files: no inline script runs, nothing comes from elsewhere. */
export const pages =
  (context: HttpContext): FastifyPluginAsync =>
  async (app) => {
    const renderStatus = loadView('status');
    const renderHost = loadView('host');
    const { db } = context.store;

    app.get('/', { config: PUBLIC }, async (_request, reply) => {
      const { version, inventory } = context;
      const [missing, events, observed, clusterStates] = await Promise.all([
        context.missing(),
        context.events.list({ limit: EVENTS_SHOWN }),
        observeHosts(db, inventory.index.inventory.hosts, Date.now()),
        context.clusters.list(),
      ]);
      const view = statusView({
        version,
        inventory,
        observed,
        progress: (host) => context.progress.get(host),
        lastEvent: context.lastEvent,
        now: Date.now(),
        readiness: context.readiness(),
        advertise: context.advertise(),
        missing,
        transfers: context.transfers(),
        assetJob: context.assets.status,
        events,
        clusterStates,
      });
      return sendPage(reply, renderStatus(view));
    });

    app.get<{ Params: { host: string } }>('/hosts/:host', { config: PUBLIC }, async (request, reply) => {
      const host = findHost(context.inventory.index, request.params.host);
      const [observed, decision, events, pxelinux, ipxe, grub] = await Promise.all([
        observeHost(db, host, Date.now()),
        context.boot.decide(host),
        context.events.list({ host: host.name, limit: 200 }),
        context.boot.preview('pxelinux', host),
        context.boot.preview('ipxe', host),
        context.boot.preview('grub', host),
      ]);
      const { version } = context;
      const view = hostView({
        version,
        host,
        observed,
        decision,
        menus: { pxelinux, ipxe, grub },
        progress: context.progress.get(host.name),
        events,
      });
      return sendPage(reply, renderHost(view));
    });

    for (const [name, type] of Object.entries(STATIC)) {
      const content = loadStatic(name);
      app.get(`/static/${name}`, { config: PUBLIC }, async (_request, reply) =>
        reply.type(`${type}; charset=utf-8`).header('cache-control', 'no-cache').send(content),
      );
    }
  };
