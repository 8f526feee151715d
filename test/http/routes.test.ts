import type { FastifyInstance, RouteOptions } from 'fastify';
import pino from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ensureAuthority, issueServerCertificate } from '../../server/access/certificate.ts';
import { buildHttpApp } from '../../server/http/app.ts';
import type { HttpContext } from '../../server/http/context.ts';
import { INITRD } from '../../server/netboot/images.ts';
import { httpContext, TOKEN } from '../support/http-context.ts';
import { tempFolder } from '../support/temp.ts';

const logger = pino({ level: 'silent' });

interface Built {
  app: FastifyInstance;
  /** Every route that the app has, once it is ready. */
  routes: RouteOptions[];
}

async function build(context: HttpContext, secure = false): Promise<Built> {
  const authority = secure ? await ensureAuthority(await tempFolder(), new Date()) : undefined;
  const tls = authority && (await issueServerCertificate(authority, ['localhost'], new Date()));
  const app = buildHttpApp({ context, logger, ...(tls === undefined ? {} : { tls }) });
  onTestFinished(() => app.close());
  const routes: RouteOptions[] = [];
  app.addHook('onRoute', (route) => void routes.push(route)); // before anything is awaited: then they are there
  return { app, routes };
}

async function buildReady(context: HttpContext, secure = false): Promise<Built> {
  const built = await build(context, secure);
  await built.app.ready();
  return built;
}

const named = (route: RouteOptions): string => `${[route.method].flat().join('|')} ${route.url}`;

/** Reading these tells nobody more than the network knows already. */
const PUBLIC_ROUTES = [
  'GET /',
  'GET /api/v1/assets',
  'GET /api/v1/assets/job',
  'GET /api/v1/clusters',
  'GET /api/v1/clusters/:cluster',
  'GET /api/v1/clusters/:cluster/pipeline',
  'GET /api/v1/clusters/:cluster/pipeline/logs',
  'GET /api/v1/clusters/:cluster/pipeline/logs/stream',
  'GET /api/v1/events',
  'GET /api/v1/events/stream',
  'GET /api/v1/hosts',
  'GET /api/v1/hosts/:host',
  'GET /api/v1/hosts/:host/kubeadm',
  'GET /api/v1/hosts/:host/menu',
  'GET /api/v1/inventory',
  'GET /api/v1/machines',
  'GET /api/v1/pipelines',
  'GET /api/v1/revisions',
  'GET /api/v1/revisions/:revision',
  'GET /api/v1/server',
  'GET /api/v1/sysexts',
  'GET /api/v1/transfers',
  'GET /assets/*',
  'GET /boot.grub',
  'GET /boot.ipxe',
  'GET /boot/:token/initrd/:file',
  'GET /boot/:token/kernel',
  'GET /boot/:token/pointer.ign',
  'GET /clusters/:cluster',
  'GET /healthz',
  'GET /hosts/:host',
  'GET /ignition/:host',
  'GET /loaders/*',
  'GET /readyz',
  'GET /static/live.js',
  'GET /static/log.js',
  'GET /static/style.css',
  'GET /sysext/:file',
  'GET /sysext/:name/:file',
  'GET /sysext/c/:cluster/:file',
  'GET /sysext/c/:cluster/:name/:file',
  'GET /sysext/noop.conf',
  'GET /sysext/signing-key.gpg',
];

/** A route's URL with something in place of its parameters. */
function concrete(url: string): string {
  const values: Record<string, string> = {
    host: 'n1',
    revision: 'in-force',
    token: 'x'.repeat(22),
    file: INITRD,
    mac: 'aa:bb:cc:00:00:01',
    name: 'kubernetes',
    version: 'none',
    arch: 'arm64',
    cluster: 'lab',
  };
  return url.replace('*', 'autoexec.ipxe').replaceAll(/:(\w+)/g, (_all, name: string) => values[name]!);
}

describe('every route', () => {
  it.each([false, true])(
    'says who may call it, and nothing public changes anything (HTTPS: %s)',
    async (secure) => {
      const { routes } = await buildReady(await httpContext(), secure);
      expect(routes.length).toBeGreaterThan(10);
      for (const route of routes)
        expect(['public', 'machine', 'admin'], named(route)).toContain(route.config?.access);
      const open = routes.filter(({ config }) => config?.access === 'public').map(named);
      for (const name of open) expect(name).toMatch(/^(GET|HEAD) /);
      // A new public route belongs in this list, after a thought about what it reveals.
      expect(open.filter((name) => name.startsWith('GET ')).sort()).toEqual(PUBLIC_ROUTES);
    },
  );

  it('is refused at start when it does not say so', async () => {
    const app = buildHttpApp({ context: await httpContext(), logger });
    app.register(async (plugin) => void plugin.get('/forgotten', async () => 'open'));
    await expect(app.ready()).rejects.toThrow(/GET \/forgotten doesn't say who may call it/);
  });

  it('that is public answers anybody, from anywhere, under any name', async () => {
    const { app, routes } = await buildReady(await httpContext());
    const headers = { host: 'rebound.example', origin: 'http://elsewhere.example' };
    for (const { url, method, config } of routes) {
      if (config?.access !== 'public' || method === 'HEAD' || url.endsWith('/stream')) continue;
      const { statusCode } = await app.inject({ url: concrete(url), remoteAddress: '10.1.2.3', headers });
      // There is no boot under way whose token could be known, and no image; everything else is simply there.
      const isMissing = url.includes(':token') || url === '/assets/*' || url.startsWith('/sysext/:');
      expect(statusCode, url).toBe(isMissing || url.startsWith('/sysext/c/') ? 404 : 200);
    }
  });
});

describe('every admin route', () => {
  const authorization = `Bearer ${TOKEN}`;
  const own = { host: '127.0.0.1:8080', authorization };

  const refusals: [what: string, status: number, headers: Record<string, string>, remoteAddress: string][] = [
    ['no token', 401, { host: '127.0.0.1' }, '127.0.0.1'],
    ['a wrong token', 401, { ...own, authorization: 'Bearer rh_wrong' }, '127.0.0.1'],
    ['an empty token', 401, { ...own, authorization: 'Bearer ' }, '127.0.0.1'],
    ['the token in another scheme', 401, { ...own, authorization: `Basic ${TOKEN}` }, '127.0.0.1'],
    ['a token with something behind it', 401, { ...own, authorization: `${authorization}x` }, '127.0.0.1'],
    ['another machine on plain HTTP', 403, own, '10.1.2.3'],
    ['another machine on plain HTTP (IPv6)', 403, own, '2001:db8::1'],
    ['another machine that claims to be near', 403, { ...own, 'x-forwarded-for': '127.0.0.1' }, '10.1.2.3'],
    ['a name that is not ours (rebinding)', 403, { ...own, host: 'evil.example:8080' }, '127.0.0.1'],
    ['a name that only begins like ours', 403, { ...own, host: 'localhost.evil.example' }, '127.0.0.1'],
    ['a user name that looks like ours', 403, { ...own, host: 'localhost@evil.example' }, '127.0.0.1'],
    ['a page of another site', 403, { ...own, origin: 'http://evil.example' }, '127.0.0.1'],
    ['a page of another port', 403, { ...own, origin: 'http://127.0.0.1:3000' }, '127.0.0.1'],
    ['a page without an origin', 403, { ...own, origin: 'null' }, '127.0.0.1'],
  ];

  it.each(refusals)('refuses %s', async (_what, status, headers, remoteAddress) => {
    let reloaded = 0;
    const built = await buildReady(await httpContext({ reload: async () => void reloaded++ }));
    for (const { method, url } of adminRoutes(built)) {
      const answer = await built.app.inject({ method, url, headers, remoteAddress, payload: '{}' });
      expect(answer.statusCode, url).toBe(status);
      expect(answer.json()).toMatchObject({
        error: { code: status === 401 ? 'RH_UNAUTHENTICATED' : 'RH_FORBIDDEN' },
      });
      if (status === 401) expect(answer.headers['www-authenticate']).toBe('Bearer');
      expect(answer.body).not.toContain(TOKEN);
    }
    expect(reloaded).toBe(0);
  });

  it.each([
    ['this machine', { ...own }, '127.0.0.1'],
    ['this machine by IPv6', { ...own, host: '[::1]:8080' }, '::1'],
    ['this machine by a mapped address', { ...own }, '::ffff:127.0.0.1'],
    ['this machine by its name', { ...own, host: 'deploy.example:8080' }, '127.0.0.1'],
    ['this machine by its name, whatever its case', { ...own, host: 'rack-SERVER' }, '127.0.0.1'],
    ['our own page', { ...own, origin: 'http://127.0.0.1:8080' }, '127.0.0.1'],
  ])('obeys %s', async (_who, headers, remoteAddress) => {
    const built = await buildReady(await httpContext());
    for (const { method, url } of adminRoutes(built)) {
      const { statusCode } = await built.app.inject({ method, url, headers, remoteAddress });
      expect([200, 400], url).toContain(statusCode); // 400: it got in, and wants to know more
    }
  });

  it('obeys other machines over HTTPS, with the token only', async () => {
    const built = await buildReady(await httpContext(), true);
    for (const { method, url } of adminRoutes(built)) {
      const call = (headers: Record<string, string>) =>
        built.app.inject({ method, url, headers, remoteAddress: '10.1.2.3' });
      expect([200, 400], url).toContain((await call({ host: '10.0.0.5:8443', authorization })).statusCode);
      expect((await call({ host: '10.0.0.5:8443' })).statusCode, url).toBe(401);
      expect((await call({ host: 'evil.example', authorization })).statusCode, url).toBe(403);
    }
  });

  function adminRoutes(built: Built): { method: 'POST'; url: string }[] {
    const { routes } = built;
    const guarded = routes.filter(({ config }) => config?.access === 'admin');
    expect(guarded.map(named)).toContain('POST /api/v1/inventory/reload');
    return guarded.map(({ method, url }) => ({ method: method as 'POST', url: concrete(url) }));
  }
});

it('waits for no request for ever', async () => {
  const { app } = await build(await httpContext());
  expect(app.server.requestTimeout).toBeGreaterThan(0);
  expect(app.server.headersTimeout).toBeGreaterThan(0);
});

it('a log tells of faults, not of everybody who has to wait', async () => {
  const context = await httpContext();
  const said: string[] = [];
  const loud = pino({}, { write: (line) => void said.push(line) });
  const answers = [
    async () => ({ problems: [{ severity: 'error', file: 'base.bu', line: 1, col: 1, message: 'no' }] }),
    () => Promise.reject(new Error('a bug')),
  ];
  const renderer = { ...context.renderer, preview: (() => answers.shift()!()) as never };
  const app = buildHttpApp({ context: { ...context, renderer }, logger: loud });
  onTestFinished(() => app.close());
  expect((await app.inject('/ignition/n1')).statusCode).toBe(503);
  expect(said).toEqual([]);
  expect((await app.inject('/ignition/n1')).statusCode).toBe(500);
  expect(said.map((line) => JSON.parse(line))).toMatchObject([{ level: 50, err: { message: 'a bug' } }]);
});
