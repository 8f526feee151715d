import { createHash, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import fastify from 'fastify';
import { onTestFinished, vi } from 'vitest';
import { answerError } from '../../../server/http/errors.ts';
import {
  createFileSender,
  type FileSender,
  type FileSenderOptions,
} from '../../../server/http/files/sender.ts';
import { PATIENCE_MS } from '../../support/poll.ts';
import { tempFolder } from '../../support/temp.ts';

export const MIB = 1024 * 1024;

/** The server hears a moment later than its client that something is over. */
export const poll = (check: () => unknown): Promise<unknown> =>
  vi.waitFor(check, { timeout: PATIENCE_MS, interval: 10 });

export interface Sent {
  bytes: number;
  /** One for each request that is over. */
  ends: boolean[];
}

export interface Served {
  root: string;
  port: number;
  sender: FileSender;
  sent: Sent;
  url(path: string): string;
}

/** A folder behind a real HTTP server. Requests say by `x-size` what size is recorded. */
export async function serve(options: Partial<FileSenderOptions> = {}): Promise<Served> {
  const root = await tempFolder();
  const sender = createFileSender({ cacheBytes: 64 * MIB, ...options });
  const sent: Sent = { bytes: 0, ends: [] };
  const app = fastify({ http: { requireHostHeader: false }, forceCloseConnections: true });
  app.setErrorHandler(answerError);
  app.addHook('onRequest', async (_request, reply) => void reply.header('x-from-a-hook', 'yes'));
  app.get('/*', (request, reply) => {
    const size = request.headers['x-size'];
    return sender.send(
      request,
      reply,
      { root, path: (request.params as { '*': string })['*'] },
      {
        onBytes: (count) => {
          sent.bytes += count;
        },
        onEnd: (whole) => sent.ends.push(whole),
        ...(size === undefined ? {} : { mustBe: { size: Number(size) } }),
      },
    );
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    await app.close();
    await sender.stop();
  });
  const { port } = app.server.address() as { port: number };
  return { root, port, sender, sent, url: (path) => `http://127.0.0.1:${port}/${path}` };
}

/** A file of random bytes. */
export async function put({ root }: Served, name: string, size: number): Promise<Buffer> {
  const content = randomBytes(size);
  await writeFile(join(root, name), content);
  return content;
}

export const sha256 = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex');

export interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

/** Unlike fetch, it sends the path as it is, and says when the connection ends before the body does. */
export function get(
  { port }: Served,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port, path: `/${path}`, headers, method, agent: false });
    request.on('error', reject);
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    request.end();
  });
}

/** A connection that asks, reads the first bytes of the answer and then no more, until it is told to. */
export async function stalled({ port }: Served, path: string, range = 'bytes=0-'): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(`GET /${path} HTTP/1.1\r\nHost: test\r\nRange: ${range}\r\n\r\n`);
  await new Promise((resolve) => socket.once('readable', resolve));
  socket.read(1);
  return socket;
}

/** All that a raw connection answers until the server closes it. */
export function converse({ port }: Served, text: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('end', () => resolve(Buffer.concat(chunks)));
  });
}
