import type { FastifyBaseLogger } from 'fastify';
import pino from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { buildHttpApp } from '../../server/http/app.ts';
import { validateIgnition } from '../../server/ignition/validate.ts';
import { httpContext, TOKEN } from '../support/http-context.ts';

async function world() {
  const context = await httpContext();
  const host = context.inventory.index.host('n1')!;
  host.variables = { greeting: 'hello', dbPassword: { fromFile: 'secret.txt' } };
  host.sshKeys = ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE= me@desk'];
  const app = buildHttpApp({ context, logger: pino({ level: 'silent' }) as FastifyBaseLogger });
  onTestFinished(() => app.close());
  const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers });
  return { context, get, host };
}

it('shows what a host would be configured with, and it is right in the eyes of Ignition', async () => {
  const { get } = await world();
  const preview = await get('/ignition/n1');
  expect(preview.statusCode, preview.body).toBe(200);
  expect(preview.headers['x-railhead-redacted']).toBe('yes');
  expect(validateIgnition(preview.body).filter(({ severity }) => severity === 'error')).toEqual([]);
  const { storage, systemd } = preview.json();
  const paths = storage.files.map(({ path }: { path: string }) => path);
  expect(paths).toContain('/etc/hostname');
  expect(paths).toContain('/etc/sysupdate.kubernetes.d/kubernetes.conf');
  const units = systemd.units.map(({ name }: { name: string }) => name);
  expect(units).toContain('railhead-kubeadm.service');
});

it('prints one file, decoded; and the Butane it is made of', async () => {
  const { get } = await world();
  expect((await get('/ignition/n1?file=/etc/hostname')).body).toBe('n1\n');
  expect((await get('/ignition/n1?file=/opt/railhead/bin/railhead-node')).body).toMatch(/^#!\/bin\/sh/);
  expect((await get('/ignition/n1?file=/etc/railhead/token')).body).toBe('<secret: token of this boot>\n');
  expect((await get('/ignition/n1?file=/nope')).statusCode).toBe(404);
  const butane = (await get('/ignition/n1?format=butane')).body;
  expect(butane).toMatch(/^# ignition\/base\.bu\nvariant: flatcar/);
  expect(butane).toContain('# ignition/kubernetes.bu');
});

it('is for people: Ignition itself is sent away', async () => {
  const { get } = await world();
  expect((await get('/ignition/n1', { 'user-agent': 'Ignition/2.24.0' })).statusCode).toBe(403);
  expect((await get('/ignition/nobody')).statusCode).toBe(404);
});

it('is revealed only to who has the admin token, and that is written down', async () => {
  const { get, context } = await world();
  expect((await get('/ignition/n1?reveal')).statusCode).toBe(401);
  expect(await context.events.list({ kind: 'ignition.revealed', limit: 5 })).toEqual([]);
  const headers = { authorization: `Bearer ${TOKEN}`, host: 'localhost' };
  const revealed = await get('/ignition/n1?reveal', headers);
  expect(revealed.statusCode, revealed.body).toBe(200);
  expect(revealed.headers['x-railhead-redacted']).toBe('no');
  expect(await context.events.list({ kind: 'ignition.revealed', limit: 5 })).toMatchObject([{ host: 'n1' }]);
});
