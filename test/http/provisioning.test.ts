import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyBaseLogger, FastifyInstance, LightMyRequestResponse } from 'fastify';
import pino from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { Vault } from '../../server/access/vault.ts';
import { buildHttpApp } from '../../server/http/app.ts';
import { ConfigDelivery, type ConfigRequest, type RenderedConfig } from '../../server/ignition/delivery.ts';
import type { Asker } from '../../server/machine/admit.ts';
import { Gate } from '../../server/machine/gate.ts';
import { observeHost } from '../../server/machine/observe.ts';
import { giveOrder } from '../../server/machine/requests.ts';
import { REPORTED_STAGES } from '../../server/machine/stages.ts';
import { INITRD, imageOf, KERNEL } from '../../server/netboot/images.ts';
import { candidatesOf } from '../../server/store/machines.ts';
import { httpContext } from '../support/http-context.ts';

const MAC = '52:54:00:12:34:01';
const HOST = 'n1';
const SECRET = 'ab'.repeat(32);
const BODY = { secret: SECRET, bootId: 'boot-1' };
const OTHER = { secret: 'cd'.repeat(32), bootId: 'boot-2' };

interface World {
  plain: FastifyInstance;
  secure: FastifyInstance;
  token: string;
  ask(method: 'GET' | 'POST', url: string, options?: { token?: string; body?: object }): Ask;
  refusals(): Promise<unknown[]>;
  context: Awaited<ReturnType<typeof httpContext>>;
  render: { answer: (request: ConfigRequest) => RenderedConfig; count: number };
}
type Ask = Promise<LightMyRequestResponse>;

const tokenIn = (text: string): string => /\/boot\/([\w-]{22})\//.exec(text)![1]!;

/** A machine that has fetched its kernel. */
async function world(install: 'ram' | 'disk' = 'ram'): Promise<World> {
  const base = await httpContext();
  const host = base.inventory.index.host(HOST)!;
  host.os = { ...host.os, install };
  const image = join(base.assetsDir, imageOf(host));
  await mkdir(image, { recursive: true });
  for (const file of [KERNEL, INITRD]) await writeFile(join(image, file), file);
  const render: World['render'] = {
    count: 0,
    answer: ({ purpose, token }) => ({
      bytes: Buffer.from(JSON.stringify({ purpose, token, made: render.count })),
    }),
  };
  const vault = new Vault(Buffer.alloc(32, 7));
  const delivery = new ConfigDelivery({
    store: base.store,
    events: base.events,
    now: Date.now,
    isNews: () => true,
    seal: (content, about) => vault.seal(content, about),
    unseal: (sealed, about) => vault.unseal(sealed, about),
    render: async (request) => {
      render.count++;
      return render.answer(request);
    },
  });
  const context = { ...base, delivery };
  const logger = pino({ level: 'silent' }) as FastifyBaseLogger;
  const plain = buildHttpApp({ context, logger });
  const secure = buildHttpApp({ context, logger, tls: { cert: '', key: '' } });
  onTestFinished(async () => {
    await plain.close();
    await secure.close();
  });
  const menu = (await plain.inject(`/boot.ipxe?mac=${MAC}`)).body;
  const token = tokenIn(menu);
  const id = (await context.boot.attemptOf(token))!.attempt.id;
  await context.boot.attempts.open(id, host, { address: '127.0.0.1', isOwnNic: true });
  return {
    plain,
    secure,
    token,
    context,
    render,
    ask: (method, url, { token: shown = token, body } = {}) =>
      secure.inject({
        method,
        url,
        headers: { authorization: `Bearer ${shown}` },
        ...(body === undefined ? {} : { body }),
      }),
    refusals: async () =>
      (await context.events.list({ limit: 100 })).flatMap((event) =>
        event.kind === 'boot.token-refused' ? [[event.host, event.data.what, event.data.reason]] : [],
      ),
  };
}

it('the pointer names the TLS URL, the token, the CA and the hash of what is there; not a byte of it changes', async () => {
  const { plain, ask, token, render } = await world();
  const pointer = (await plain.inject(`/boot/${token}/pointer.ign`)).json();
  const { replace } = pointer.ignition.config;
  expect(replace).toMatchObject({
    source: `https://10.0.0.5:8443/boot/${token}/config.ign`,
    httpHeaders: [{ name: 'Authorization', value: `Bearer ${token}` }],
  });
  expect(pointer.ignition.security.tls.certificateAuthorities).toHaveLength(1);
  render.answer = () => ({ bytes: Buffer.from('edited meanwhile') });
  const config = await ask('GET', `/boot/${token}/config.ign`);
  expect(config.statusCode).toBe(200);
  expect(config.json()).toMatchObject({ purpose: 'system', token });
  expect(replace.verification.hash).toBe(
    `sha512-${createHash('sha512').update(config.rawPayload).digest('hex')}`,
  );
  expect((await plain.inject(`/boot/${token}/pointer.ign`)).json()).toEqual(pointer);
  expect(render.count).toBe(1);
});

it('the real configuration is nowhere on plain HTTP, and needs the header besides the URL', async () => {
  const { plain, secure, token, refusals } = await world();
  const headers = { authorization: `Bearer ${token}` };
  const url = `/boot/${token}/config.ign`;
  expect((await plain.inject({ url, headers })).statusCode).toBe(404);
  expect((await secure.inject({ url })).statusCode).toBe(403);
  const stranger = 'x'.repeat(22);
  const foreign = { url: `/boot/${stranger}/config.ign`, headers: { authorization: `Bearer ${stranger}` } };
  expect((await secure.inject(foreign)).statusCode).toBe(403);
  await expect.poll(async () => (await refusals()).length).toBe(2);
  for (const path of ['register', 'first-boot'])
    expect((await plain.inject({ method: 'POST', url: `/agent/v1/${path}`, headers })).statusCode).toBe(404);
});

it('nothing that can be read in the database is a token or a configuration', async () => {
  const { plain, token, context, ask } = await world();
  await plain.inject(`/boot/${token}/pointer.ign`);
  const own = (await ask('POST', '/agent/v1/register', { body: BODY })).json().token;
  const dump: string[] = [];
  for (const table of ['attempts', 'machines', 'frozen_configs', 'events', 'hosts', 'first_boots'] as const) {
    const rows = await context.store.db.selectFrom(table).selectAll().execute();
    dump.push(
      JSON.stringify(rows),
      ...rows.map((row) => ('sealed' in row ? row.sealed.toString('latin1') : '')),
    );
  }
  for (const secret of [token, own, SECRET, 'purpose']) expect(dump.join('\n')).not.toContain(secret);
});

it('a configuration that can not be made yet is waited for at the TLS URL, and is an event', async () => {
  const { plain, ask, token, render, context } = await world();
  const { answer } = render;
  render.answer = () => ({ problems: ['base.yaml:3:1: error: no such thing'] });
  const { ignition } = (await plain.inject(`/boot/${token}/pointer.ign`)).json();
  expect(ignition.config.replace).not.toHaveProperty('verification');
  expect((await ask('GET', `/boot/${token}/config.ign`)).statusCode).toBe(503);
  expect(await context.events.list({ kind: 'ignition.failed', limit: 5 })).toMatchObject([
    { host: HOST, data: { problems: ['base.yaml:3:1: error: no such thing'] } },
    { host: HOST },
  ]);
  render.answer = answer;
  expect((await ask('GET', `/boot/${token}/config.ign`)).statusCode).toBe(200);
});

it('registers: the same secret again is the same answer, another one is a candidate that changes nothing', async () => {
  const { ask, context } = await world();
  const register = (body: object) => ask('POST', '/agent/v1/register', { body });
  const first = await register(BODY);
  expect(first.statusCode).toBe(200);
  expect(first.json()).toMatchObject({
    host: HOST,
    generation: 1,
    token: expect.stringMatching(/^[\w-]{22}$/),
    interval: 10,
  });
  expect((await register(BODY)).json()).toEqual(first.json());
  const own = first.json().token;
  const report = () => ask('POST', '/agent/v1/stage', { token: own, body: { stage: 'provisioned' } });
  expect((await report()).statusCode).toBe(200);

  const other = await register(OTHER);
  expect(other.statusCode).toBe(503);
  expect(other.json().error).toMatchObject({ code: 'RH_CANDIDATE', details: { retryAfter: 30 } });
  await register(OTHER);
  expect(await context.events.list({ kind: 'agent.alarm', limit: 5 })).toMatchObject([{ host: HOST }]);
  expect((await report()).statusCode).toBe(200);
  expect((await register(BODY)).json()).toEqual(first.json());
});

it('a known secret needs no token: a machine that boots from its disk has none', async () => {
  const { secure, ask } = await world();
  const { token } = (await ask('POST', '/agent/v1/register', { body: BODY })).json();
  const register = (body: object) =>
    secure.inject({ method: 'POST', url: '/agent/v1/register', body, headers: { accept: 'text/plain' } });
  const again = await register({ ...BODY, bootId: 'boot-2' });
  expect(again.body).toBe(`host=n1\ngeneration=1\ntoken=${token}\ninterval=10\n`);
  expect((await ask('POST', '/agent/v1/stage', { token, body: { stage: 'provisioned' } })).statusCode).toBe(
    200,
  );
  expect((await register(OTHER)).statusCode).toBe(401);
});

it('an operator trusts a candidate: it is the host from then on, and the former machine is not', async () => {
  const { ask, context } = await world();
  const register = (body: object) => ask('POST', '/agent/v1/register', { body });
  const { token: former } = (await register(BODY)).json();
  await register(OTHER);
  const host = context.inventory.index.host(HOST)!;
  const [candidate] = await candidatesOf(context.store.db, HOST);
  await context.machines.registrations.trust(host, candidate!.id);
  const trusted = await register(OTHER);
  expect(trusted.json()).toMatchObject({ host: HOST, generation: 2 });
  const heartbeat = (token: string) => ask('POST', '/agent/v1/heartbeat', { token, body: {} });
  expect((await heartbeat(former)).statusCode).toBe(401);
  expect((await heartbeat(trusted.json().token)).json()).toEqual({ interval: 10 });
  expect(await candidatesOf(context.store.db, HOST)).toEqual([]);
  expect((await register(BODY)).statusCode).toBe(503);
});

it('its own secret on other hardware is a candidate; trusting it changes nothing else', async () => {
  const { ask, context } = await world();
  const register = (uuid: string, bootId: string) =>
    ask('POST', '/agent/v1/register', { body: { ...BODY, bootId, hardware: { uuid } } });
  const first = (await register('4c4c4544-0042-3510-8052-b4c04f384332', 'boot-1')).json();
  const moved = '4c4c4544-0042-3510-8052-b4c04f384333';
  expect((await register(moved, 'boot-2')).json().error.message).toMatch(/the secret of n1, but its UUID is/);
  const [candidate] = await candidatesOf(context.store.db, HOST);
  await context.machines.trust(context.inventory.index.host(HOST)!, candidate!.id);
  expect((await register(moved, 'boot-2')).json()).toEqual(first);
});

it('a reinstall opens a window for the next identity, and the running machine does not use it up', async () => {
  const { ask, context } = await world();
  const register = (body: object) => ask('POST', '/agent/v1/register', { body });
  await register(BODY);
  const host = context.inventory.index.host(HOST)!;
  await giveOrder(context.events, host, { order: 'reinstall' }, Date.now());
  const isRequested = async () => (await context.boot.attempts.recordOf(HOST)).reinstallAt !== undefined;
  expect((await register({ ...BODY, bootId: 'boot-3' })).json()).toMatchObject({ generation: 1 });
  expect(await isRequested()).toBe(true);
  expect((await register(OTHER)).json()).toMatchObject({ generation: 2 });
  expect(await isRequested()).toBe(false);
});

it('a machine that runs is not offered another boot, until it says that it goes down', async () => {
  const { plain, ask } = await world();
  const { token } = (await ask('POST', '/agent/v1/register', { body: BODY })).json();
  const menu = async () => (await plain.inject(`/boot.ipxe?mac=${MAC}`)).body;
  expect(await menu()).toMatch(/it was heard of a moment ago\nsleep 30/);
  const beat = (body: object) => ask('POST', '/agent/v1/heartbeat', { token, body });
  await beat({ rebooting: true });
  expect(await menu()).toContain('/kernel');
  await beat({ versions: { os: '4593.2.5' } });
  expect(await menu()).toMatch(/it was heard of a moment ago/);
});

it('an offer that was kept from before opens nothing once the host is up, and what the host has stays good', async () => {
  const { plain, ask, token: first } = await world();
  const kept = tokenIn((await plain.inject(`/boot.ipxe?mac=${MAC}`)).body);
  expect(kept).not.toBe(first);
  const own = (await ask('POST', '/agent/v1/register', { body: BODY })).json().token;
  expect((await plain.inject(`/boot/${kept}/kernel`)).statusCode).toBe(404);
  expect((await plain.inject(`/boot/${kept}/pointer.ign`)).statusCode).toBe(404);
  const shown = { authorization: `Bearer ${kept}` };
  const report = {
    method: 'POST',
    url: '/agent/v1/stage',
    headers: shown,
    body: { stage: 'kernel' },
  } as const;
  expect((await plain.inject(report)).statusCode).toBe(401);
  const stage = await ask('POST', '/agent/v1/stage', { token: own, body: { stage: 'provisioned' } });
  expect(stage.statusCode).toBe(200);
});

it('an offer that was kept from before does not end the token on the disk of a host that is installed', async () => {
  const { plain, ask } = await world('disk');
  const kept = tokenIn((await plain.inject(`/boot.ipxe?mac=${MAC}`)).body);
  const { source } = (await ask('POST', '/agent/v1/first-boot')).json().ignition.config.replace;
  await ask('POST', '/agent/v1/stage', { body: { stage: 'installed' } });
  expect((await plain.inject(`/boot/${kept}/kernel`)).statusCode).toBe(404);
  const firstBoot = tokenIn(source);
  expect((await ask('GET', `/boot/${firstBoot}/config.ign`, { token: firstBoot })).statusCode).toBe(200);
});

it.each(
  REPORTED_STAGES.slice(REPORTED_STAGES.indexOf('ignition-done')).filter((stage) => stage !== 'failed'),
)('that a host is at %s is not believed over plain HTTP, where everybody hears its token', async (stage) => {
  const { plain, token, context } = await world();
  const headers = { authorization: `Bearer ${token}` };
  const report = await plain.inject({ method: 'POST', url: '/agent/v1/stage', headers, body: { stage } });
  expect(report.statusCode).toBe(403);
  expect(await context.events.list({ kind: 'boot.stage', limit: 5 })).toEqual([]);
});

it('an IPv4 address is the same one on a socket for both families', async () => {
  const { secure, plain, context } = await world();
  const remoteAddress = '::ffff:10.0.0.7';
  const heard = tokenIn((await plain.inject({ url: `/boot.ipxe?mac=${MAC}`, remoteAddress })).body);
  // Files go straight to the socket, and there is none: what counts is that it was asked for.
  await plain.inject({ url: `/boot/${heard}/kernel`, remoteAddress }).catch(() => {});
  expect((await context.boot.attemptOf(heard))?.attempt.openedFrom).toBe('10.0.0.7');
  const headers = { authorization: `Bearer ${heard}` };
  const body = BODY;
  await secure.inject({ method: 'POST', url: '/agent/v1/register', headers, body, remoteAddress });
  expect(await context.events.list({ kind: 'agent.registered', limit: 1 })).toMatchObject([
    { data: { address: '10.0.0.7' } },
  ]);
});

it('a stranger on the same link with the token gets nothing', async () => {
  const { ask, token, context, refusals } = await world();
  const asker: Asker = { address: '10.0.0.66', isAttached: true, mac: 'aa:bb:cc:00:00:01' };
  const credential = (await context.machines.credentials.find(token, ['attempt']))!;
  const strict = new Gate({
    store: context.store,
    events: context.events,
    idleMs: () => 0,
    policy: { expiryMs: 1000, checkMac: true, refuseOtherAddress: false, hostsWithoutMacs: 'wait' },
    askerOf: () => asker,
    isNews: () => true,
  });
  await expect(strict.pass(credential, asker.address, 'configuration')).rejects.toThrow(
    /which is not one of n1's/,
  );
  await expect.poll(refusals).toMatchObject([[HOST, 'configuration', expect.stringContaining('aa:bb:cc')]]);
  expect((await ask('GET', `/boot/${token}/config.ign`)).statusCode).toBe(200);
});

it('an installer gets its own configuration, and a stub for the disk that outlives it until the host is provisioned', async () => {
  const { ask, token, context } = await world('disk');
  expect((await ask('GET', `/boot/${token}/config.ign`)).json()).toMatchObject({ purpose: 'installer' });
  const stub = await ask('POST', '/agent/v1/first-boot');
  expect(stub.statusCode).toBe(200);
  expect((await ask('POST', '/agent/v1/first-boot')).body).toBe(stub.body);
  const { replace } = stub.json().ignition.config;
  expect(replace).not.toHaveProperty('verification');
  const firstBoot = tokenIn(replace.source);
  expect(firstBoot).not.toBe(token);
  await ask('POST', '/agent/v1/stage', { body: { stage: 'installed' } });

  // Days later, from another address, without asking for a menu.
  const config = () => ask('GET', `/boot/${firstBoot}/config.ign`, { token: firstBoot });
  expect((await config()).json()).toMatchObject({ purpose: 'system', token: firstBoot });
  const registered = await ask('POST', '/agent/v1/register', { token: firstBoot, body: BODY });
  const own = registered.json().token;
  await ask('POST', '/agent/v1/stage', { token: own, body: { stage: 'boot-complete' } });
  expect((await config()).statusCode).toBe(200);
  await ask('POST', '/agent/v1/stage', { token: own, body: { stage: 'provisioned' } });
  expect((await config()).statusCode).toBe(403);
  expect(await context.boot.decide(context.inventory.index.host(HOST)!)).toMatchObject({ action: 'local' });
});

it('arming a host again ends the token on its disk', async () => {
  const { ask, context } = await world('disk');
  const { source } = (await ask('POST', '/agent/v1/first-boot')).json().ignition.config.replace;
  const firstBoot = tokenIn(source);
  await giveOrder(context.events, context.inventory.index.host(HOST)!, { order: 'reinstall' }, Date.now());
  expect((await ask('GET', `/boot/${firstBoot}/config.ign`, { token: firstBoot })).statusCode).toBe(403);
});

it('a machine that runs from RAM has no first boot from disk', async () => {
  const { ask } = await world();
  expect((await ask('POST', '/agent/v1/first-boot')).statusCode).toBe(403);
});

it('HEAD changes nothing: no boot is opened by it', async () => {
  const { plain, context } = await world();
  const heard = tokenIn(
    (await plain.inject({ url: `/boot.ipxe?mac=${MAC}`, remoteAddress: '10.0.0.7' })).body,
  );
  for (const file of ['kernel', 'pointer.ign']) {
    await plain
      .inject({ method: 'HEAD', url: `/boot/${heard}/${file}`, remoteAddress: '10.0.0.66' })
      .catch(() => {});
  }
  expect((await context.boot.attemptOf(heard))?.attempt).toMatchObject({
    isOpen: false,
    openedFrom: '10.0.0.7',
  });
});

it('an overheard token does not make a boot fail that has its configuration', async () => {
  const { plain, ask, token, context } = await world();
  const headers = { authorization: `Bearer ${token}` };
  const fail = () =>
    plain.inject({
      method: 'POST',
      url: '/agent/v1/stage',
      headers,
      body: { stage: 'failed', message: 'x' },
    });
  expect((await fail()).statusCode).toBe(200);
  await ask('GET', `/boot/${token}/config.ign`);
  expect((await fail()).statusCode).toBe(403);
  expect((await context.boot.attempts.find(token))?.stage).toBe('config-sent');
});

it('boots that others open by plain GETs do not hold a host, and do not end its own boot', async () => {
  const { plain, ask, token, context } = await world();
  for (let last = 60; last < 70; last++) {
    const remoteAddress = `10.0.0.${last}`;
    const other = tokenIn((await plain.inject({ url: `/boot.ipxe?mac=${MAC}`, remoteAddress })).body);
    await plain.inject({ url: `/boot/${other}/kernel`, remoteAddress }).catch(() => {});
    const report = {
      method: 'POST',
      url: '/agent/v1/stage',
      headers: { authorization: `Bearer ${other}` },
    } as const;
    await plain.inject({ ...report, body: { stage: 'failed' }, remoteAddress });
  }
  expect(await context.boot.decide(context.inventory.index.host(HOST)!)).toMatchObject({ action: 'run' });
  await ask('GET', `/boot/${token}/config.ign`);
  expect((await ask('POST', '/agent/v1/register', { body: BODY })).statusCode).toBe(200);
});

it('another boot from the address of a registered machine does not end its own: its reports count', async () => {
  const { plain, ask, token, context } = await world();
  await ask('GET', `/boot/${token}/config.ign`);
  const { token: own } = (await ask('POST', '/agent/v1/register', { body: BODY })).json();
  await ask('POST', '/agent/v1/heartbeat', { token: own, body: { rebooting: true } });
  const other = tokenIn((await plain.inject(`/boot.ipxe?mac=${MAC}`)).body);
  await plain.inject(`/boot/${other}/kernel`).catch(() => {});
  expect((await context.boot.attemptOf(other))?.attempt.isOpen).toBe(true);
  await ask('POST', '/agent/v1/stage', { token: own, body: { stage: 'provisioned' } });
  expect((await context.boot.attempts.find(token))?.stage).toBe('provisioned');
  expect((await context.boot.attempts.recordOf(HOST)).failures).toBe(0);
});

it('nobody else can make a host that has registered look as if it boots or has failed', async () => {
  const { plain, ask, context } = await world();
  const { token: own } = (await ask('POST', '/agent/v1/register', { body: BODY })).json();
  await ask('POST', '/agent/v1/stage', { token: own, body: { stage: 'provisioned' } });
  await ask('POST', '/agent/v1/heartbeat', { token: own, body: { rebooting: true } });
  const remoteAddress = '10.0.0.66';
  const other = tokenIn((await plain.inject({ url: `/boot.ipxe?mac=${MAC}`, remoteAddress })).body);
  await plain.inject({ url: `/boot/${other}/kernel`, remoteAddress }).catch(() => {});
  const headers = { authorization: `Bearer ${other}` };
  const body = { stage: 'failed' };
  await plain.inject({ method: 'POST', url: '/agent/v1/stage', headers, body, remoteAddress });
  await ask('POST', '/agent/v1/stage', { token: other, body });
  const host = context.inventory.index.host(HOST)!;
  expect(await observeHost(context.store.db, host, Date.now())).toMatchObject({
    state: 'initialized',
    stage: 'provisioned',
  });
});
