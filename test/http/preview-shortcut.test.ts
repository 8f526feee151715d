import { once } from 'node:events';
import { type IncomingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import pino from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { buildHttpApp } from '../../server/http/app.ts';
import { httpContext } from '../support/http-context.ts';

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

async function world() {
  const context = await httpContext();
  const hosts = context.inventory.index.inventory.hosts;
  for (const host of hosts) host.os = { ...host.os, install: 'ram' };
  const app = buildHttpApp({ context, logger: pino({ level: 'silent' }) as FastifyBaseLogger });
  onTestFinished(() => app.close());
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as { port: number };
  const ask = (path: string, { method = 'GET', ...headers }: Record<string, string> = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const asked = request({ port, path, method, headers }, async (answer) => {
        const body = (await answer.toArray()).join('');
        resolve({ status: answer.statusCode!, headers: answer.headers, body });
      });
      asked.on('error', reject).end();
    });
  /** As the route answers it: what is injected doesn't pass the shortcut. */
  const viaRoute = async (url: string): Promise<Answer> => {
    const { statusCode, headers, body } = await app.inject({ url });
    return { status: statusCode, headers: headers as IncomingHttpHeaders, body };
  };
  return { context, hosts, port, ask, viaRoute };
}

const withoutConnection = ({
  headers: { date, connection, 'keep-alive': _, ...headers },
  ...rest
}: Answer) => ({
  ...rest,
  headers,
});

it('answers what the route would, whether it is kept or made anew', async () => {
  const { ask, viaRoute, hosts } = await world();
  for (const { name } of hosts) {
    const anew = await ask(`/ignition/${name}`);
    const kept = await ask(`/ignition/${name}`);
    const wanted = withoutConnection(await viaRoute(`/ignition/${name}`));
    expect(wanted.status).toBe(200);
    expect([anew, kept].map(withoutConnection)).toEqual([wanted, wanted]);
  }
});

describe('leaves to the route', () => {
  it.each<[string, number, string, Record<string, string>?]>([
    ['a machine', 403, '/ignition/n1', { 'user-agent': 'Ignition/2.24.0' }],
    ["a host that there isn't", 404, '/ignition/nobody'],
    ['a query', 200, '/ignition/n1?file=/etc/hostname'],
    ['a slash at the end', 200, '/ignition/n1/'],
    ['a question for the headers only', 200, '/ignition/n1', { method: 'HEAD' }],
    ['another method', 404, '/ignition/n1', { method: 'DELETE' }],
  ])('%s', async (_what, status, path, headers) => {
    const { ask } = await world();
    await ask('/ignition/n1');
    const answer = await ask(path, headers);
    expect(answer.status, answer.body).toBe(status);
    if (path.includes('?')) expect(answer.body).toBe('n1\n');
    if (headers?.method === 'HEAD') expect(answer.body).toBe('');
    if (status >= 400) expect(JSON.parse(answer.body)).toHaveProperty('error.code');
  });

  it('what a host in disk mode boots with next', async () => {
    const { ask, hosts } = await world();
    const [host] = hosts;
    host!.os = { ...host!.os, install: 'disk' };
    host!.disk = '/dev/disk/by-id/x';
    const { systemd } = JSON.parse((await ask(`/ignition/${host!.name}`)).body);
    expect(systemd.units.map(({ name }: { name: string }) => name)).toContain('railhead-install.service');
  });

  it('what can not be made', async () => {
    const { ask, hosts } = await world();
    hosts[0]!.snippets = ['missing.bu'];
    const answer = await ask(`/ignition/${hosts[0]!.name}`);
    expect(answer.status).toBe(503);
    expect(JSON.parse(answer.body).error.message).toContain('there is no template "snippets/missing.bu"');
  });

  it('a request without a Host', async () => {
    const { port } = await world();
    const socket = connect({ port }).setEncoding('latin1');
    socket.end('GET /ignition/n1 HTTP/1.1\r\n\r\n');
    expect((await socket.toArray()).join('')).toMatch(/^HTTP\/1\.1 400 .*The Host header is missing/s);
  });
});

it('many at once, to somebody who reads slowly, each get their own', async () => {
  const { port, ask, hosts } = await world();
  const names = Array.from({ length: 600 }, (_, index) => hosts[index % hosts.length]!.name);
  const wanted = new Map<string, string>();
  for (const { name } of hosts) wanted.set(name, (await ask(`/ignition/${name}`)).body);
  const socket = connect({ port }).setEncoding('latin1');
  await once(socket, 'connect');
  socket.pause();
  socket.write(names.map((name) => `GET /ignition/${name} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
  // More than the system takes for one who doesn't read: most of it waits in the server.
  for (let asked = 0; asked < 20; asked++) await ask(`/ignition/${hosts[asked % hosts.length]!.name}`);
  let received = '';
  socket.on('data', (data: string) => {
    received += data;
  });
  socket.resume().end();
  await once(socket, 'close');
  const bodies = received.split(/HTTP\/1\.1 200 OK\r\n(?:[^\r]+\r\n)+\r\n/).slice(1);
  expect(bodies).toHaveLength(names.length);
  for (const [index, name] of names.entries()) expect(bodies[index] === wanted.get(name), name).toBe(true);
});
