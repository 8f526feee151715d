import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

export interface OriginRequest {
  method: string;
  path: string;
  range: string | undefined;
  ifRange: string | undefined;
  status: number;
  /** Bytes of the body that went to the network. */
  sent: number;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>;

/** An HTTP server that has files, counts what it sends, and does whatever a test wants. */
export class Origin {
  readonly files = new Map<string, Buffer>();
  readonly requests: OriginRequest[] = [];
  /** Called first; true when it has answered. */
  hook: Handler = () => false;
  /** Bytes a second for each answer; without it, as fast as it goes. */
  bytesPerSecond: number | undefined;
  /** No answer goes further than this byte of its file, for as long as it is set: nothing larger is ever complete. */
  stopsAt: number | undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response));
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('error', () => {});
    });
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** How many bytes of a file went out, in all answers together. */
  sent(path: string): number {
    return this.requests.filter((each) => each.path === path).reduce((sum, { sent }) => sum + sent, 0);
  }

  gets(path: string): OriginRequest[] {
    return this.requests.filter((each) => each.path === path && each.method === 'GET');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '/', 'http://x').pathname;
    const record: OriginRequest = {
      method: request.method ?? '',
      path,
      range: request.headers.range,
      ifRange: request.headers['if-range'] as string | undefined,
      status: 0,
      sent: 0,
    };
    this.requests.push(record);
    response.on('error', () => {});
    if (await this.hook(request, response)) return;
    const bytes = this.files.get(path);
    if (bytes === undefined) {
      record.status = 404;
      return void response.writeHead(404).end('not here');
    }
    const etag = etagOf(bytes);
    const start = startOf(record, etag, bytes.length);
    const headers = { etag, 'accept-ranges': 'bytes', 'content-length': bytes.length - start };
    record.status = start > 0 ? 206 : 200;
    response.writeHead(
      record.status,
      start > 0
        ? { ...headers, 'content-range': `bytes ${start}-${bytes.length - 1}/${bytes.length}` }
        : headers,
    );
    if (request.method === 'HEAD') return void response.end();
    await this.#send(response, bytes, start, record);
  }

  async #send(response: ServerResponse, bytes: Buffer, start: number, record: OriginRequest): Promise<void> {
    const piece = this.bytesPerSecond === undefined ? 65_536 : Math.ceil(this.bytesPerSecond / 50);
    for (let at = start; at < bytes.length && !response.destroyed; at += piece) {
      while (at >= (this.stopsAt ?? bytes.length) && !response.destroyed) await sleep(20);
      const part = bytes.subarray(at, at + piece);
      const isTaken = response.write(part);
      record.sent += part.length;
      if (this.bytesPerSecond !== undefined) await sleep(20);
      else if (!isTaken)
        await new Promise<void>((resolve) => {
          const go = () => {
            response.off('drain', go).off('close', go);
            resolve();
          };
          response.on('drain', go).on('close', go);
        });
    }
    response.end();
  }
}

function startOf(record: OriginRequest, etag: string, size: number): number {
  const start = Number(/^bytes=(\d+)-$/.exec(record.range ?? '')?.[1] ?? 0);
  return record.ifRange === undefined || record.ifRange === etag ? Math.min(start, size) : 0;
}

export function etagOf(bytes: Buffer): string {
  return `"${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}"`;
}

/** An origin that ends with the test. */
export async function startOrigin(): Promise<Origin> {
  const origin = await new Origin().start();
  onTestFinished(() => origin.stop());
  return origin;
}
