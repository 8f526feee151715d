import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyBaseLogger } from 'fastify';
import pino from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { buildHttpApp } from '../../server/http/app.ts';
import { giveOrder } from '../../server/machine/requests.ts';
import { endWindow } from '../../server/machine/windows.ts';
import { INITRD, imageOf, KERNEL } from '../../server/netboot/images.ts';
import { httpContext } from '../support/http-context.ts';
import { provisioned } from '../support/machines.ts';
import { until } from '../support/poll.ts';

const URL = '/agent/v1/kubeadm';

/** n1 has fetched its kernel and has registered. */
async function world() {
  const context = await httpContext();
  const logger = pino({ level: 'silent' }) as FastifyBaseLogger;
  const plain = buildHttpApp({ context, logger });
  const secure = buildHttpApp({ context, logger, tls: { cert: '', key: '' } });
  onTestFinished(async () => {
    await plain.close();
    await secure.close();
  });
  const host = context.inventory.index.host('n1')!;
  const image = join(context.assetsDir, imageOf(host));
  await mkdir(image, { recursive: true });
  for (const file of [KERNEL, INITRD]) await writeFile(join(image, file), file);
  const menu = (await plain.inject('/boot.ipxe?mac=52:54:00:12:34:01')).body;
  const attempt = /\/boot\/([\w-]{22})\//.exec(menu)![1]!;
  await context.boot.attempts.open((await context.boot.attemptOf(attempt))!.attempt.id, host, {
    address: '127.0.0.1',
    isOwnNic: false,
  });
  const post = (url: string, token: string, more: object = {}) =>
    secure.inject({ method: 'POST', url, headers: { authorization: `Bearer ${token}`, ...more } });
  const registered = await secure.inject({
    method: 'POST',
    url: '/agent/v1/register',
    headers: { authorization: `Bearer ${attempt}` },
    body: { secret: 'ab'.repeat(32), bootId: 'b1' },
  });
  return { context, plain, host, attempt, own: registered.json().token as string, post };
}

it('is there over TLS only, and for a machine with its own token only', async () => {
  const { plain, attempt, own, post } = await world();
  const headers = { authorization: `Bearer ${own}` };
  expect((await plain.inject({ method: 'POST', url: URL, headers })).statusCode).toBe(404);
  // What a boot came with travels in clear: it leads to no key of the cluster.
  for (const token of [attempt, 'x'.repeat(22), '']) expect((await post(URL, token)).statusCode).toBe(401);
  expect((await post(URL, own)).statusCode).toBe(200);
});

it('answers with JSON, or with an archive that the script of the host takes apart', async () => {
  const { own, post } = await world();
  const json = await post(URL, own);
  expect(json.json()).toMatchObject({
    action: 'init',
    before: 'nothing',
    config: expect.stringContaining('kubeadm'),
  });
  expect(json.headers['cache-control']).toBe('no-store');
  const tar = await post(URL, own, { accept: 'application/x-tar' });
  expect(tar.headers['content-type']).toBe('application/x-tar');
  const { stdout } = spawnSync('tar', ['-t'], { input: tar.rawPayload, encoding: 'utf8' });
  expect(stdout.trim().split('\n')).toEqual([
    'action',
    'before',
    'config.yaml',
    'pki/ca.crt',
    'pki/ca.key',
    'pki/etcd/ca.crt',
    'pki/etcd/ca.key',
    'pki/front-proxy-ca.crt',
    'pki/front-proxy-ca.key',
    'pki/sa.pub',
    'pki/sa.key',
    'etc/railhead/encryption.yaml',
  ]);
});

it('a hold is about the next boot: a machine that runs gets its answer', async () => {
  const { context, host, own, post } = await world();
  await giveOrder(context.events, host, { order: 'hold', reason: 'by hand' }, Date.now());
  expect(await post(URL, own)).toMatchObject({ statusCode: 200 });
});

it('serves nobody when the provisioning window is closed', async () => {
  const { context, own, post } = await world();
  expect(await post(URL, own)).toMatchObject({ statusCode: 200 });
  await endWindow(context.store.db, 'n1', 'joined', Date.now());
  const closed = await post(URL, own);
  expect(closed).toMatchObject({ statusCode: 503 });
  expect(closed.body).toContain('railhead reinstall n1');
  expect(closed.body).not.toContain('PRIVATE KEY');
});

it('says with 503 what it waits for, and so does an event of the host', async () => {
  const { context, own, post, host } = await world();
  const machine = await provisioned(context.store.db, 'another', Date.now());
  await context.clusters.answer({ ...host, name: 'another' }, { machine, address: '10.0.0.9' });
  const answer = await post(URL, own);
  expect(answer.statusCode).toBe(503);
  expect(answer.json()).toMatchObject({
    error: {
      code: 'RH_CLUSTER_WAITS',
      details: { waitingFor: 'the API of lab, which another is setting up' },
    },
  });
  const kinds = async () => (await context.events.list({ host: 'n1', limit: 100 })).map(({ kind }) => kind);
  await until('it is told', async () => (await kinds()).includes('cluster.waiting'));
});

it('shows no secret in what people may see', async () => {
  const { context, plain, own, post } = await world();
  await post(URL, own);
  const { ca, encryptionKey } = await context.clusters.secrets.ensure('lab');
  const seen = [];
  for (const url of [
    '/',
    '/hosts/n1',
    '/api/v1/clusters',
    '/api/v1/clusters/lab',
    '/api/v1/hosts/n1/kubeadm',
    '/api/v1/events',
  ]) {
    seen.push((await plain.inject(url)).body);
  }
  const tokens = (await context.clusters.describe('lab')).tokens.map(({ id }) => id);
  expect(tokens.length).toBeGreaterThan(0);
  for (const body of seen) {
    expect(body).not.toContain(ca.key.split('\n')[1]);
    expect(body).not.toContain(encryptionKey);
    for (const id of tokens) expect(body).not.toMatch(new RegExp(`${id}\\.[a-z0-9]{16}`));
  }
});
