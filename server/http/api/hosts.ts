import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { describeHost, findHost, summariseHost } from '../../machine/describe-host.ts';
import { observeHost, observeHosts } from '../../machine/observe.ts';
import { giveOrder, type Order } from '../../machine/requests.ts';
import { MENU_KINDS, type MenuKind } from '../../netboot/menus.ts';
import { ADMIN, PUBLIC } from '../access.ts';
import type { HttpContext } from '../context.ts';

/** Hosts, what was seen of them, and what can be ordered for them. */
export const hostsApi =
  (context: HttpContext): FastifyPluginAsyncTypebox =>
  async (app) => {
    const params = Type.Object({ host: Type.String({ maxLength: 253 }) });
    const hostOf = (wanted: string) => findHost(context.inventory.index, wanted);
    const { db } = context.store;

    app.get('/api/v1/hosts', { config: PUBLIC }, async () => {
      const { hosts } = context.inventory.index.inventory;
      const observed = await observeHosts(db, hosts, Date.now());
      return hosts.map((host, index) => summariseHost(host, observed[index]));
    });
    app.get('/api/v1/hosts/:host', { config: PUBLIC, schema: { params } }, async (request) => {
      const host = hostOf(request.params.host);
      const [observed, decision, events] = await Promise.all([
        observeHost(db, host, Date.now()),
        context.boot.decide(host),
        context.events.list({ host: host.name, limit: 50 }),
      ]);
      return {
        ...describeHost(host, observed),
        hold: observed.hold,
        lastSeen: observed.lastSeen,
        identity: observed.identity,
        window: observed.window,
        candidates: observed.candidates,
        decision,
        events,
      };
    });
    const menu = Type.Object({ kind: Type.Optional(Type.Enum([...MENU_KINDS])) });
    app.get(
      '/api/v1/hosts/:host/menu',
      { config: PUBLIC, schema: { params, querystring: menu } },
      async (request, reply) => {
        const kind = (request.query.kind ?? 'ipxe') as MenuKind;
        const text = await context.boot.preview(kind, hostOf(request.params.host));
        return reply.type('text/plain; charset=utf-8').send(text);
      },
    );
    const order = async (wanted: string, given: Order) => {
      const host = hostOf(wanted);
      await giveOrder(context.events, host, given, Date.now());
      return { name: host.name, decision: await context.boot.decide(host) };
    };
    app.post('/api/v1/hosts/:host/reinstall', { config: ADMIN, schema: { params } }, async (request) =>
      order(request.params.host, { order: 'reinstall' }),
    );
    app.post('/api/v1/hosts/:host/release', { config: ADMIN, schema: { params } }, async (request) =>
      order(request.params.host, { order: 'release' }),
    );
    const candidate = Type.Object({ candidate: Type.String({ maxLength: 300 }) });
    app.post(
      '/api/v1/hosts/:host/trust',
      { config: ADMIN, schema: { params, querystring: candidate } },
      async (request) => context.machines.trust(hostOf(request.params.host), request.query.candidate),
    );
    app.post('/api/v1/hosts/:host/keep', { config: ADMIN, schema: { params } }, async (request) =>
      context.machines.keep(hostOf(request.params.host)),
    );
    const querystring = Type.Object({
      reason: Type.String({ minLength: 1, maxLength: 200, default: 'by hand' }),
    });
    app.post(
      '/api/v1/hosts/:host/hold',
      { config: ADMIN, schema: { params, querystring } },
      async (request) => order(request.params.host, { order: 'hold', reason: request.query.reason }),
    );
  };
