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
import { giveOrder } from '../../server/machine/requests.ts';
import { REPORTED_STAGES } from '../../server/machine/stages.ts';
import { INITRD, imageOf, KERNEL } from '../../server/netboot/images.ts';
import { updateHostRow } from '../../server/store/hosts.ts';
import { httpContext } from '../support/http-context.ts';

const MAC = '52:54:00:12:34:01';
const HOST = 'n1';
const NONCE = 'a-nonce-that-the-machine-made';

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
  await context.boot.attempts.open(id, host, '127.0.0.1');
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
  const own = (await ask('POST', '/agent/v1/register', { body: { nonce: NONCE } })).json().token;
  const dump: string[] = [];
  for (const table of ['attempts', 'agents', 'frozen_configs', 'events', 'hosts', 'first_boots'] as const) {
    const rows = await context.store.db.selectFrom(table).selectAll().execute();
    dump.push(
      JSON.stringify(rows),
      ...rows.map((row) => ('sealed' in row ? row.sealed.toString('latin1') : '')),
    );
  }
  for (const secret of [token, own, NONCE, 'purpose']) expect(dump.join('\n')).not.toContain(secret);
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

it('registers once: again with the same nonce is the same answer, another nonce is an alarm that stops everything', async () => {
  const { ask, token, context } = await world();
  const register = (nonce: string) => ask('POST', '/agent/v1/register', { body: { nonce } });
  const first = await register(NONCE);
  expect(first.statusCode).toBe(200);
  expect(first.json()).toMatchObject({ host: HOST, token: expect.stringMatching(/^[\w-]{22}$/) });
  expect((await register(NONCE)).json()).toEqual(first.json());
  const own = first.json().token;
  const report = () => ask('POST', '/agent/v1/stage', { token: own, body: { stage: 'provisioned' } });
  expect((await report()).statusCode).toBe(200);

  expect((await register('another-machine-made-this')).statusCode).toBe(403);
  expect(await context.events.list({ kind: 'agent.alarm', limit: 5 })).toMatchObject([{ host: HOST }]);
  expect((await ask('GET', `/boot/${token}/config.ign`)).statusCode).toBe(503);
  expect((await register(NONCE)).statusCode).toBe(503);
  expect((await report()).statusCode).toBe(401);
  await giveOrder(context.events, context.inventory.index.host(HOST)!, { order: 'release' }, Date.now());
  // The boot that both had is over: the machine boots anew.
  expect((await register(NONCE)).statusCode).toBe(401);
});

it('a machine whose agent is alive is not offered another boot', async () => {
  const { plain, ask } = await world();
  await ask('POST', '/agent/v1/register', { body: { nonce: NONCE } });
  expect((await plain.inject(`/boot.ipxe?mac=${MAC}`)).body).toMatch(
    /its agent was heard of within 45 s\nsleep 30/,
  );
});

it('an offer that was kept from before opens nothing once the host is up, and what the host has stays good', async () => {
  const { plain, ask, token: first } = await world();
  const kept = tokenIn((await plain.inject(`/boot.ipxe?mac=${MAC}`)).body);
  expect(kept).not.toBe(first);
  const own = (await ask('POST', '/agent/v1/register', { body: { nonce: NONCE } })).json().token;
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

it('an order to begin anew is not taken back by who has only heard the token', async () => {
  const { plain, ask, context } = await world();
  const host = context.inventory.index.host(HOST)!;
  await giveOrder(context.events, host, { order: 'reinstall' }, Date.now());
  const heard = tokenIn((await plain.inject(`/boot.ipxe?mac=${MAC}`)).body);
  const isOrdered = async () => (await context.boot.attempts.recordOf(HOST)).reinstallAt !== undefined;
  const body = { stage: 'ignition-done' };
  const headers = { authorization: `Bearer ${heard}` };
  expect((await plain.inject({ method: 'POST', url: '/agent/v1/stage', headers, body })).statusCode).toBe(
    403,
  );
  expect(await isOrdered()).toBe(true);
  expect((await ask('POST', '/agent/v1/stage', { token: heard, body })).statusCode).toBe(200);
  expect(await isOrdered()).toBe(false);
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
  const heard = tokenIn((await plain.inject(`/boot.ipxe?mac=${MAC}`)).body);
  const remoteAddress = '::ffff:10.0.0.7';
  // Files go straight to the socket, and there is none: what counts is that it was asked for.
  await plain.inject({ url: `/boot/${heard}/kernel`, remoteAddress }).catch(() => {});
  expect((await context.boot.attemptOf(heard))?.attempt.openedFrom).toBe('10.0.0.7');
  const headers = { authorization: `Bearer ${heard}` };
  const body = { nonce: NONCE };
  await secure.inject({ method: 'POST', url: '/agent/v1/register', headers, body, remoteAddress });
  expect(await context.events.list({ kind: 'agent.registered', limit: 1 })).toMatchObject([
    { data: { address: '10.0.0.7' } },
  ]);
});

it('a stranger on the same link with the token gets nothing', async () => {
  const { ask, token, context, refusals } = await world();
  const asker: Asker = { address: '10.0.0.66', isAttached: true, mac: 'aa:bb:cc:00:00:01' };
  const credential = (await context.agents.credentials.find(token, ['attempt']))!;
  const strict = new Gate({
    store: context.store,
    events: context.events,
    now: Date.now,
    policy: { expiryMs: 1000, checkMac: true, refuseOtherAddress: false },
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
  const registered = await ask('POST', '/agent/v1/register', { token: firstBoot, body: { nonce: NONCE } });
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

it('a member whose data is gone is held, never joined silently; one that kept it registers', async () => {
  const { ask, context } = await world();
  const host = context.inventory.index.host(HOST)!;
  const now = Date.now();
  await updateHostRow(context.store.db, HOST, { joined_at: now }, { state: 'joined', now });
  const register = (data: string) =>
    ask('POST', '/agent/v1/register', { body: { nonce: NONCE, facts: { data } } });
  const lost = await register('empty');
  expect(lost.statusCode).toBe(503);
  expect(lost.json().error.message).toMatch(/held: it is a member of its cluster, but what it kept/);
  expect((await register('kept')).statusCode).toBe(503);
  expect(await context.boot.decide(host)).toMatchObject({ action: 'hold' });
  await updateHostRow(context.store.db, HOST, { hold_reason: null }, { state: 'joined', now });
  expect((await register('kept')).statusCode).toBe(200);
});
