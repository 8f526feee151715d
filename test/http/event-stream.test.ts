import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readEventStream } from '../../server/cli/read-event-stream.ts';
import type { Event } from '../../server/events/kinds.ts';
import type { EventLog } from '../../server/events/log.ts';
import { buildHttpApp } from '../../server/http/app.ts';
import { type StreamFilter, streamEvents } from '../../server/http/event-stream.ts';
import { httpContext } from '../support/http-context.ts';
import { until } from '../support/poll.ts';

const event = (reason: string, host?: string) =>
  ({ kind: 'server.stopped', data: { reason }, ...(host === undefined ? {} : { host }) }) as const;

interface Streaming {
  log: EventLog;
  port: number;
  url: string;
  stop: AbortController;
  /** The answers that were begun, newest last. */
  responses: ServerResponse[];
}

/** A server whose every answer is the stream, from the event that the path names: `/17`, or `/` for live only. */
async function streaming(filter: StreamFilter = {}): Promise<Streaming> {
  const { events: log } = await httpContext();
  const stop = new AbortController();
  const responses: ServerResponse[] = [];
  const server = createServer((request, response) => {
    responses.push(response);
    const after = request.url === '/' ? undefined : Number(request.url?.slice(1));
    streamEvents(log, { ...filter, after }, response, stop.signal);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { log, port, url: `http://127.0.0.1:${port}`, stop, responses };
}

async function open(url: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  const [response] = (await once(get(url, { agent: false, headers }), 'response')) as [IncomingMessage];
  response.on('error', () => {});
  return response;
}

/** Asks for the stream and reads nothing of it. */
async function deafReader(port: number, path: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', readableHighWaterMark: 1 } as never);
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
  return socket;
}

describe('the event stream', () => {
  it('goes on where a reader left off, without a gap or a repeat, while events are appended', async () => {
    const { log, url } = await streaming();
    await Promise.all(Array.from({ length: 700 }, (_, n) => log.append(event(`before ${n}`))));
    let appending = true;
    const appender = (async () => {
      for (let n = 0; appending; n++) {
        await log.append(event(`meanwhile ${n}`));
        if (n % 10 === 0) await sleep(1);
      }
    })();
    const seen: number[] = [];
    for (let connection = 0; connection < 6; connection++) {
      const response = await open(`${url}/${seen.at(-1) ?? 0}`);
      const enough = seen.length + 150 + connection * 17;
      for await (const { id } of readEventStream<Event>(response)) {
        seen.push(id);
        if (seen.length === enough) break; // hangs up in the middle of things
      }
    }
    appending = false;
    await appender;
    expect(seen).toEqual(seen.map((_, index) => index + 1));
    expect(seen.length).toBeGreaterThan(700);
  });

  it('starts with what happens next when nothing else was asked for', async () => {
    const { log, url } = await streaming();
    await log.append(event('before'));
    const events = readEventStream<Event>(await open(`${url}/`));
    await log.append(event('after'));
    expect((await events.next()).value).toMatchObject({ id: 2, data: { reason: 'after' } });
  });

  it('goes by Last-Event-ID, which browsers send when they come back, before the URL that they came with', async () => {
    const context = await httpContext();
    const app = buildHttpApp({ context, logger: pino({ level: 'silent' }) });
    onTestFinished(() => app.close());
    const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/api/v1/events/stream?after=0`;
    for (let n = 0; n < 3; n++) await context.events.append(event(String(n)));
    const firstAfter = async (lastEventId: string): Promise<number> => {
      const response = await open(url, { 'last-event-id': lastEventId });
      for await (const { id } of readEventStream<Event>(response)) return id;
      return 0;
    };
    expect(await firstAfter('2')).toBe(3);
    for (const nonsense of ['', 'x', '-1', '1e3', '2 ', '99999999999999999999']) {
      expect(await firstAfter(nonsense), nonsense).toBe(nonsense === '2 ' ? 3 : 1); // spaces around are no part of it
    }
    const head = await app.inject({ method: 'HEAD', url: '/api/v1/events/stream' });
    expect(head.statusCode).toBe(404);
  });

  it('leaves out what was not asked for, in what has been and in what happens', async () => {
    const { log, url } = await streaming({ host: 'n1' });
    for (const host of ['n1', 'n2', 'n1']) await log.append(event('old', host));
    const events = readEventStream<Event>(await open(`${url}/0`));
    const next = async () => ((await events.next()).value as Event).id;
    expect([await next(), await next()]).toEqual([1, 3]);
    for (const host of ['n2', 'n1']) await log.append(event('new', host));
    expect(await next()).toBe(5);
  });

  it('cuts off a reader that never reads what happens, and keeps no memory for it', async () => {
    const { log, port, responses } = await streaming();
    await deafReader(port, '/');
    await until('it is connected', () => responses[0]);
    const padding = 'x'.repeat(64 * 1024);
    for (let n = 0; n < 500 && !responses[0]!.destroyed; n++) {
      await log.append(event(padding));
      expect(responses[0]!.writableLength).toBeLessThan(1024 * 1024 + 100_000);
    }
    expect(responses[0]!.destroyed).toBe(true);
    await log.append(event('still works'));
  });

  it('waits for a reader that is slow with what has been, instead of keeping it all in memory', async () => {
    const { log, port, responses } = await streaming();
    const padding = 'x'.repeat(4096);
    await Promise.all(Array.from({ length: 4000 }, () => log.append(event(padding))));
    const reader = await deafReader(port, '/0');
    await until('it is served', () => responses[0]?.writableNeedDrain);
    expect(responses[0]!.writableLength).toBeLessThan(100_000);
    expect(responses[0]!.destroyed).toBe(false);
    // It wakes up, and gets everything.
    let last = 0;
    reader.setEncoding('utf8');
    reader.on('data', (text: string) => {
      for (const [, id] of text.matchAll(/^id: (\d+)$/gm)) last = Number(id);
    });
    reader.resume();
    await until('it has seen the last', () => last === 4000);
  });

  it('lets others have their turn while a long log is read', async () => {
    const { log, url } = await streaming();
    await Promise.all(Array.from({ length: 5000 }, (_, n) => log.append(event(String(n)))));
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 0);
    onTestFinished(() => clearInterval(timer));
    let seen = 0;
    for await (const _ of readEventStream<Event>(await open(`${url}/0`))) if (++seen === 5000) break;
    expect(turns).toBeGreaterThan(5);
  });

  it('ends in good order when the server stops, and writes nothing after its end', async () => {
    const { log, url, port, stop, responses } = await streaming();
    const padding = 'x'.repeat(64 * 1024);
    const response = await open(`${url}/`);
    await deafReader(port, '/');
    await until('both are connected', () => responses.length === 2);
    response.resume();
    // So much that the deaf one's end is still on its way when the next events come.
    while (responses[1]!.writableLength === 0) await log.append(event(padding));
    const ended = once(response, 'end');
    stop.abort();
    for (let n = 0; n < 3; n++) await log.append(event('after the end'));
    await ended;
    expect(responses.every(({ writableEnded }) => writableEnded)).toBe(true);
    const late = await open(`${url}/0`);
    late.resume();
    await once(late, 'end');
  });
});
