import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Passing {
  path: string;
  status: number;
  body: Buffer;
}

export interface TamperingProxy {
  url: string;
  /** Paths, in the order they were asked for. */
  asked: string[];
}

/** Somebody on the way between a host and the server: passes everything on, after `tamper` had a hand in it. */
export async function tamperingProxy(
  target: string,
  tamper: (passing: Passing) => Partial<Passing> | undefined,
  /** Awaited before a request is passed on. */
  before: (path: string) => Promise<void> = async () => {},
): Promise<TamperingProxy> {
  const asked: string[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const path = incoming.url ?? '/';
    asked.push(path);
    await before(path);
    const headers = { 'user-agent': incoming.headers['user-agent'] };
    const passed = request(`${target}${path}`, { headers, agent: false }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        const real = { path, status: answer.statusCode ?? 500, body: Buffer.concat(chunks) };
        const { status, body } = { ...real, ...tamper(real) };
        outgoing.writeHead(status, { 'content-length': body.length }).end(body);
      });
    });
    passed.on('error', () => outgoing.destroy());
    passed.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}
