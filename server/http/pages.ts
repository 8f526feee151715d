import type { FastifyPluginAsync } from 'fastify';
import { loadStatic, loadView } from '../web/render.ts';
import { statusView } from '../web/status-view.ts';
import { PUBLIC } from './access.ts';
import type { HttpContext } from './context.ts';

const EVENTS_SHOWN = 30;
const STATIC = { 'style.css': 'text/css', 'live.js': 'text/javascript' } as const;

/** Pages for people. Everything is ours and in files: no inline script runs, nothing comes from elsewhere. */
export const pages =
  (context: HttpContext): FastifyPluginAsync =>
  async (app) => {
    const renderStatus = loadView('status');
    app.get('/', { config: PUBLIC }, async (_request, reply) => {
      const [missing, events] = await Promise.all([
        context.missing(),
        context.events.list({ limit: EVENTS_SHOWN }),
      ]);
      const { version, inventory } = context;
      const view = statusView({
        version,
        inventory,
        readiness: context.readiness(),
        advertise: context.advertise(),
        missing,
        transfers: context.transfers(),
        events,
      });
      return reply
        .type('text/html; charset=utf-8')
        .header('content-security-policy', "default-src 'self'; img-src data:; frame-ancestors 'none'")
        .header('cache-control', 'no-store')
        .send(renderStatus(view));
    });
    for (const [name, type] of Object.entries(STATIC)) {
      const content = loadStatic(name);
      app.get(`/static/${name}`, { config: PUBLIC }, async (_request, reply) =>
        reply.type(`${type}; charset=utf-8`).header('cache-control', 'no-cache').send(content),
      );
    }
  };
