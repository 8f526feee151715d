import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import pino from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { buildHttpApp } from '../../server/http/app.ts';
import type { HttpContext } from '../../server/http/context.ts';
import { Liveness } from '../../server/machine/liveness.ts';
import { INITRD, imageOf, KERNEL } from '../../server/netboot/images.ts';
import { BootService } from '../../server/netboot/service.ts';
import { bootFiles } from '../../server/tftp/boot-files.ts';
import { Damper } from '../../server/tftp/damper.ts';
import { httpContext, templatesIn } from '../support/http-context.ts';
import { tempFolder } from '../support/temp.ts';

const MAC = '52:54:00:12:34:01';

async function appliance(): Promise<{ app: FastifyInstance; context: HttpContext }> {
  const context = await httpContext();
  const image = join(context.assetsDir, imageOf(context.inventory.index.host('n1')!));
  await mkdir(image, { recursive: true });
  await writeFile(join(image, KERNEL), 'kernel '.repeat(1000));
  await writeFile(join(image, INITRD), 'initrd '.repeat(1000));
  const app = buildHttpApp({ context, logger: pino({ level: 'silent' }) as FastifyBaseLogger });
  onTestFinished(() => app.close());
  return { app, context };
}

const get = (app: FastifyInstance, url: string) => app.inject({ method: 'GET', url });
const tokenIn = (menu: string): string => /\/boot\/([\w-]{22})\//.exec(menu)![1]!;

it('a boot from the first menu to the last report, and every step of it as an event of the right host', async () => {
  const { app, context } = await appliance();
  const menu = await get(app, `/boot.ipxe?mac=${MAC}`);
  expect(menu.statusCode).toBe(200);
  const token = tokenIn(menu.body);
  // Files go straight to the socket: it takes a real one.
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const fetchText = async (path: string) => (await fetch(`${url}/boot/${token}/${path}`)).text();
  expect(await fetchText('kernel')).toBe('kernel '.repeat(1000));
  expect(await fetchText(`initrd/${INITRD}`)).toBe('initrd '.repeat(1000));
  await expect.poll(async () => (await context.boot.attemptOf(token))?.attempt.stage).toBe('initrd-sent');
  expect((await get(app, `/boot/${token}/pointer.ign`)).json().ignition.version).toBe('3.3.0');
  for (const stage of ['kernel', 'init']) {
    const headers = { authorization: `Bearer ${token}` };
    expect(
      (await app.inject({ method: 'POST', url: '/agent/v1/stage', headers, body: { stage } })).statusCode,
    ).toBe(200);
  }
  const events = await context.events.list({ host: 'n1', limit: 100 });
  const stages = events.flatMap((event) => (event.kind === 'boot.stage' ? [event.data.stage] : []));
  expect(stages).toEqual(['kernel-sent', 'initrd-sent', 'pointer-sent', 'kernel', 'init']);
  expect(JSON.stringify(events)).not.toContain(token);
  expect((await get(app, '/api/v1/hosts')).json()[0]).toMatchObject({
    name: 'n1',
    state: 'netbooting',
    stage: 'init',
  });
});

it('TFTP and HTTP give the same host the same answer, and asking changes nothing', async () => {
  const { app, context } = await appliance();
  const first = tokenIn((await get(app, `/boot.ipxe?mac=${MAC}`)).body);
  const resolve = bootFiles(context.boot, () => 'http://10.0.0.5:8080', Date.now);
  const tftp = await resolve({ name: 'pxelinux.cfg/01-52-54-00-12-34-01', address: '127.0.0.1' });
  const menu = String((tftp as { content: Buffer }).content);
  expect(tokenIn(menu)).toBe(first);
  expect(menu).toContain('KERNEL http://10.0.0.5:8080/boot/');
  await app.inject({ method: 'HEAD', url: `/boot/${first}/kernel` });
  expect(tokenIn((await get(app, `/boot.grub?mac=${MAC}`)).body)).toBe(first);
  expect(await context.events.list({ limit: 10 })).toEqual([]);
});

it('pxelinux gets quick misses for names that tell nothing, and iPXE its script', async () => {
  const { context } = await appliance();
  const resolve = bootFiles(context.boot, () => 'http://10.0.0.5:8080', Date.now);
  const ask = (name: string) => resolve({ name, address: '10.0.0.9' });
  expect(await ask('pxelinux.cfg/12345678-1234-5678-90ab-cdef01234567')).toBeUndefined();
  expect(await ask('pxelinux.cfg/0A000009')).toBeUndefined();
  expect(await ask('pxelinux.cfg/0A')).toBeUndefined();
  expect(await ask('lpxelinux.0')).toBeUndefined();
  expect(String(((await ask('pxelinux.cfg/default')) as { content: Buffer }).content)).toContain(
    'LOCALBOOT -1',
  );
  expect(String(((await ask('autoexec.ipxe')) as { content: Buffer }).content)).toContain(
    'chain --replace http://10.0.0.5:8080/boot.ipxe?mac=${netX/mac}&uuid=${uuid}',
  );
});

it('a stranger boots its own disk and is remembered; it is never installed', async () => {
  const { app } = await appliance();
  const menu = await get(
    app,
    '/boot.ipxe?mac=aa:bb:cc:00:00:01&uuid=4c4c4544-0042-3510-8052-b4c04f384332&vendor=Dell',
  );
  expect(menu.body).toContain('sanboot');
  expect(menu.body).not.toContain('kernel');
  expect((await get(app, '/api/v1/machines')).json()).toMatchObject([
    { name: 'aa:bb:cc:00:00:01', vendor: 'Dell' },
  ]);
});

it.each([
  ['a token that was never given out', 'x'.repeat(22), 404],
  ['something that is no token', '..%2f..%2fetc', 400],
])('%s opens nothing', async (_what, token, status) => {
  const { app } = await appliance();
  for (const file of ['kernel', 'pointer.ign'])
    expect((await get(app, `/boot/${token}/${file}`)).statusCode).toBe(status);
});

it('a report without the token of a boot that is under way is refused', async () => {
  const { app } = await appliance();
  const post = (headers: Record<string, string>, body: object) =>
    app.inject({ method: 'POST', url: '/agent/v1/stage', headers, body });
  expect((await post({}, { stage: 'installed' })).statusCode).toBe(401);
  expect((await post({ authorization: `Bearer ${'x'.repeat(22)}` }, { stage: 'installed' })).statusCode).toBe(
    401,
  );
  const token = tokenIn((await get(app, `/boot.ipxe?mac=${MAC}`)).body);
  expect((await post({ authorization: `Bearer ${token}` }, { stage: 'menu' })).statusCode).toBe(400);
});

it('a host whose image is not there waits, with the reason on its screen and in an event', async () => {
  const context = await httpContext();
  const app = buildHttpApp({ context, logger: pino({ level: 'silent' }) as FastifyBaseLogger });
  onTestFinished(() => app.close());
  expect((await get(app, `/boot.ipxe?mac=${MAC}`)).body).toMatch(/is not there.*\nsleep 30/);
  await expect
    .poll(() => context.events.list({ host: 'n1', limit: 5 }))
    .toMatchObject([{ kind: 'boot.waiting' }]);
});

it('the page of a host shows what it would get, and hands out nothing', async () => {
  const { app, context } = await appliance();
  const page = await get(app, '/hosts/n1');
  expect(page.statusCode).toBe(200);
  expect(page.body).toContain('run: it runs from RAM');
  expect(page.body).toContain('......................');
  expect(await context.store.db.selectFrom('attempts').selectAll().execute()).toEqual([]);
});

it('firmware that fetches by HTTP gets boot loaders, the script beside them, and nothing else', async () => {
  const { app, context } = await appliance();
  await writeFile(join(context.bootDir, 'snponly.efi'), 'loader');
  await writeFile(join(context.bootDir, '.manifest'), 'hidden');
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const ask = async (path: string) => {
    const answer = await fetch(`${url}/loaders/${path}`);
    return [answer.status, answer.status === 200 ? await answer.text() : ''];
  };
  expect(await ask('snponly.efi')).toEqual([200, 'loader']);
  expect(await ask('autoexec.ipxe')).toEqual([200, expect.stringMatching(/^#!ipxe/)]);
  for (const path of ['nope', '.manifest', '..%2f..%2fetc%2fpasswd']) expect((await ask(path))[0]).toBe(404);
});

it('a machine that loads iPXE again and again is an event, unless it asks for a menu in between', async () => {
  const { app, context } = await appliance();
  await writeFile(join(context.bootDir, 'snponly.efi'), 'loader');
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const load = async () => (await fetch(`${url}/loaders/snponly.efi`)).text();
  const loops = () => context.events.list({ kind: 'boot.loader-loop', limit: 5 });
  for (const step of [load, load, () => fetch(`${url}/boot.ipxe?mac=${MAC}`), load, load]) await step();
  expect(await loops()).toEqual([]);
  await load();
  await expect.poll(loops).toMatchObject([{ data: { client: '127.0.0.1', file: 'snponly.efi' } }]);
});

it('an image that is shorter than it was when it was offered is not served, and the host is told why', async () => {
  const { app, context } = await appliance();
  const token = tokenIn((await get(app, `/boot.ipxe?mac=${MAC}`)).body);
  const image = join(context.assetsDir, imageOf(context.inventory.index.host('n1')!));
  await writeFile(join(image, INITRD), 'half');
  const answer = await get(app, `/boot/${token}/initrd/${INITRD}`);
  expect(answer.statusCode).toBe(503);
  expect(answer.json().error.message).toContain('it has 4 bytes instead of 7000');
  await expect
    .poll(() => context.events.list({ host: 'n1', limit: 5 }))
    .toMatchObject([{ kind: 'boot.image-refused', data: { file: INITRD } }]);
  await rm(join(image, KERNEL));
  expect((await get(app, `/boot/${token}/kernel`)).statusCode).toBe(404);
  expect((await get(app, `/boot.ipxe?mac=${MAC}`)).body).toMatch(/is not there/);
});

it('a menu that fails to render is a 500 with file and line and an event; other hosts get theirs', async () => {
  const { context } = await appliance();
  const templatesDir = await tempFolder();
  await cp(join(import.meta.dirname, '../../templates'), templatesDir, { recursive: true });
  await writeFile(
    join(templatesDir, 'menus', 'mine.ipxe.hbs'),
    '#!ipxe\necho {{title}}\necho {{nonsense}}\n',
  );
  const host = context.inventory.index.host('n1')!;
  host.templates = { menu: 'mine' };
  const boot = new BootService({
    store: context.store,
    events: context.events,
    inventory: () => context.inventory.index,
    now: Date.now,
    assetsDir: context.assetsDir,
    templates: templatesIn(templatesDir),
    baseUrl: () => 'http://10.0.0.5:8080',
    maxFailures: 3,
    tokenOf: (seed) => seed.slice(0, 22),
    machineIdOf: () => 'a'.repeat(32),
    recordedSize: async () => undefined,
    currentVersion: async () => undefined,
    isNews: () => true,
    liveness: new Liveness({ clock: () => performance.now(), hosts: () => 3 }),
    clock: () => performance.now(),
    isNewSighting: () => true,
    onJoined: async () => {},
  });
  const logger = pino({ level: 'silent' }) as FastifyBaseLogger;
  const app = buildHttpApp({ context: { ...context, boot }, logger });
  onTestFinished(() => app.close());
  const answer = await get(app, `/boot.ipxe?mac=${MAC}`);
  expect(answer.statusCode).toBe(500);
  expect(answer.json().error.message).toMatch(/mine\.ipxe\.hbs:3:\d+: .*nonsense/);
  await expect
    .poll(() => context.events.list({ host: 'n1', limit: 5 }))
    .toMatchObject([{ kind: 'boot.menu-failed', data: { template: 'mine' } }]);
  const [, other] = context.inventory.index.inventory.hosts;
  expect((await get(app, `/boot.ipxe?mac=${other!.macs[0]}`)).statusCode).toBe(200);
});

it('thousands of machines that nobody knows cost little: few events, a bounded list, no memory', async () => {
  const { context } = await appliance();
  const damper = new Damper(() => performance.now());
  const sightings = new Damper(() => performance.now());
  const boot = new BootService({
    store: context.store,
    events: context.events,
    inventory: () => context.inventory.index,
    now: Date.now,
    assetsDir: context.assetsDir,
    templates: templatesIn(join(import.meta.dirname, '../../templates')),
    baseUrl: () => 'http://10.0.0.5:8080',
    maxFailures: 3,
    tokenOf: (seed) => seed.slice(0, 22),
    machineIdOf: () => 'a'.repeat(32),
    recordedSize: async () => undefined,
    currentVersion: async () => undefined,
    isNews: (source, what) => damper.admit(source, what) !== undefined,
    liveness: new Liveness({ clock: () => performance.now(), hosts: () => 3 }),
    clock: () => performance.now(),
    isNewSighting: (source, mac) => sightings.admit(source, mac) !== undefined,
    onJoined: async () => {},
  });
  const logger = pino({ level: 'silent' }) as FastifyBaseLogger;
  const app = buildHttpApp({ context: { ...context, boot }, logger });
  onTestFinished(() => app.close());
  for (let round = 0; round < 50; round++) {
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => get(app, `/boot.ipxe?mac=${macOf(round * 100 + index)}`)),
    );
    expect(answers.every(({ statusCode, body }) => statusCode === 200 && body.includes('sanboot'))).toBe(
      true,
    );
  }
  const eventCount = async () => (await context.events.list({ limit: 10_000 })).length;
  await expect.poll(eventCount).toBeGreaterThan(0);
  expect(await eventCount()).toBeLessThanOrEqual(100);
  expect((await get(app, '/api/v1/machines')).json()).toHaveLength(100);
});

it('images are served as they lie there, but nothing hidden and nothing outside', async () => {
  const { app, context } = await appliance();
  await writeFile(join(context.assetsDir, '.partial'), 'half');
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const image = imageOf(context.inventory.index.host('n1')!);
  expect(await (await fetch(`${url}/assets/${image}/${KERNEL}`)).text()).toBe('kernel '.repeat(1000));
  expect(
    (await fetch(`${url}/assets/${image}/${KERNEL}`, { method: 'HEAD' })).headers.get('content-length'),
  ).toBe('7000');
  for (const path of ['.partial', 'nope', '..%2f..%2fetc%2fpasswd', image])
    expect((await fetch(`${url}/assets/${path}`)).status).toBe(404);
});

function macOf(number: number): string {
  const hex = number.toString(16).padStart(6, '0');
  return `aa:bb:cc:${hex.slice(0, 2)}:${hex.slice(2, 4)}:${hex.slice(4)}`;
}
