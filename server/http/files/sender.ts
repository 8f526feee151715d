import type { OutgoingHttpHeader, ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RailheadError } from '../../errors.ts';
import { judge, toSeconds } from './conditions.ts';
import { Etags } from './etags.ts';
import { unavailable } from './locate.ts';
import { type OpenFile, OpenFiles } from './open-files.ts';
import { Outlet } from './outlet.ts';
import { piecesOf } from './pieces.ts';
import { SlicePool } from './slice-pool.ts';

export interface FileSenderOptions {
  /** Parts of files that are kept in memory, all together; 16 MiB at least. */
  cacheBytes: number;
  /** A client that takes nothing for this long is cut off. */
  stallMs?: number;
  now?: () => number;
}

/** A file by its way from a folder that it can't leave. */
export interface FileOfRoot {
  root: string;
  path: string;
}

export interface SendHooks {
  /** The file is there and about to be sent: all its bytes, not only those that were asked for. */
  onSize?: (size: number) => void;
  /** So many more bytes of the file went to the network. */
  onBytes?: (count: number) => void;
  /**
   * Called once, whatever happens, also when `send` rejects. `whole`: the last byte of the file went to the network,
   * and before it all that was asked for. So it is true for a download that was resumed, and false for HEAD, for a
   * client that has the file already (304), and for a part that ends before the file does.
   */
  onEnd?: (whole: boolean) => void;
  /** What is known about the file; one that is different is refused, never sent. */
  mustBe?: { size?: number };
}

/** What is used of Fastify's, so that it fits routes with any type provider. */
type Request = Pick<FastifyRequest, 'raw' | 'log' | 'method' | 'headers'>;
type Reply = Pick<FastifyReply, 'raw' | 'hijack' | 'getHeaders'>;

type Headers = Record<string, OutgoingHttpHeader | undefined>;

interface Part {
  file: OpenFile;
  status: number;
  /** Both ends count. */
  start: number;
  end: number;
  headers: Headers;
}

export interface FileSender {
  /**
   * Answers with a file, or the part of it that is asked for. Rejects as long as an error can be answered; after that
   * it ends the connection instead. Resolves when the answer is over.
   */
  send(request: Request, reply: Reply, file: FileOfRoot, hooks?: SendHooks): Promise<void>;
  status(): { sending: number; openFiles: number; cachedBytes: number };
  /** Ends what is still being sent and closes all files. */
  stop(): Promise<void>;
}

const STALL_MS = 60_000;

export function createFileSender(options: FileSenderOptions): FileSender {
  return new Sender(options);
}

class Sender implements FileSender {
  readonly #now: () => number;
  readonly #stallMs: number;
  readonly #files = new OpenFiles();
  readonly #pool: SlicePool;
  readonly #etags: Etags;
  readonly #sending = new Map<ServerResponse, Promise<void>>();
  #isStopping = false;

  constructor({ cacheBytes, stallMs = STALL_MS, now = Date.now }: FileSenderOptions) {
    this.#now = now;
    this.#stallMs = stallMs;
    this.#pool = new SlicePool(cacheBytes);
    this.#etags = new Etags(this.#pool);
  }

  send(request: Request, reply: Reply, file: FileOfRoot, hooks: SendHooks = {}): Promise<void> {
    const work = this.#send(request, reply, file, hooks).finally(() => this.#sending.delete(reply.raw));
    this.#sending.set(reply.raw, work);
    return work;
  }

  status(): { sending: number; openFiles: number; cachedBytes: number } {
    return {
      sending: this.#sending.size,
      openFiles: this.#files.count,
      cachedBytes: this.#pool.bytes,
    };
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const response of this.#sending.keys()) response.destroy();
    await Promise.allSettled(this.#sending.values());
    await this.#etags.stop();
    this.#pool.clear();
  }

  async #send(request: Request, reply: Reply, file: FileOfRoot, hooks: SendHooks): Promise<void> {
    let whole = false;
    try {
      if (this.#isStopping) throw new RailheadError('RH_STOPPING', 'The server is stopping.');
      const opened = await this.#files.open(file);
      try {
        whole = await this.#answer(request, reply, opened, hooks);
      } finally {
        opened.release();
      }
    } catch (error) {
      throw error instanceof RailheadError ? error : unavailable(file.path, "it can't be read", error);
    } finally {
      hooks.onEnd?.(whole);
    }
  }

  /** True when the file's last byte has gone to the network. */
  async #answer(request: Request, reply: Reply, file: OpenFile, hooks: SendHooks): Promise<boolean> {
    const { size, modifiedAt } = file.identity;
    const recorded = hooks.mustBe?.size ?? size;
    if (size !== recorded) throw unavailable(file.path, `it has ${size} bytes instead of ${recorded}`);

    hooks.onSize?.(size);

    const now = this.#now();
    const tags = await this.#etags.of(file);
    const verdict = judge(request, { size, tags, modifiedAt }, now);
    const headers: Headers = {
      ...reply.getHeaders(),
      // Spelled as in the textbook: to boot loaders (GRUB) `content-length` is another header than `Content-Length`.
      'Accept-Ranges': 'bytes',
      ETag: tags[0],
      // Never in the future, whatever the clock was when the file was written.
      'Last-Modified': new Date(toSeconds(Math.min(modifiedAt, now))).toUTCString(),
    };
    if (!('start' in verdict)) {
      if (verdict.status === 416) headers['Content-Range'] = `bytes */${size}`;
      answerShortly(reply, verdict.status, headers, REFUSALS.get(verdict.status));
      return false;
    }
    const { status, start, end } = verdict;
    headers['Content-Type'] = 'application/octet-stream';
    headers['Content-Length'] = end + 1 - start;
    if (status === 206) headers['Content-Range'] = `bytes ${start}-${end}/${size}`;
    if (request.method === 'HEAD' || size === 0) {
      answerShortly(reply, status, headers);
      return request.method !== 'HEAD';
    }
    const isSent = await this.#sendPart(request, reply, { file, status, start, end, headers }, hooks);
    return isSent && end === size - 1;
  }

  /** True when all of it has gone to the network. */
  async #sendPart(request: Request, reply: Reply, part: Part, hooks: SendHooks): Promise<boolean> {
    const { file, status, start, end, headers } = part;
    const pieces = piecesOf(file, start, end, this.#pool);
    // Before the headers: as long as nothing is promised, a disk that fails can still be answered with an error.
    let piece = await pieces.next();
    reply.hijack();
    const outlet = new Outlet(reply.raw, request.raw.socket, this.#stallMs);
    try {
      reply.raw.writeHead(status, headers);
      while (!piece.done) {
        if (!(await outlet.write(piece.value))) return false;
        hooks.onBytes?.(piece.value.length);
        piece = await pieces.next();
      }
      outlet.end();
      return true;
    } catch (error) {
      request.log.error({ err: error, file: file.path }, 'A file could not be sent to its end.');
      return false;
    } finally {
      if (!reply.raw.writableEnded) outlet.destroy();
      await pieces.return();
    }
  }
}

const REFUSALS: ReadonlyMap<number, string> = new Map([
  [412, 'The file is not the one that the request is about.'],
  [416, 'The file ends before the part that was asked for.'],
]);

/** Without a body, or with an error for one. */
function answerShortly(reply: Reply, status: number, headers: Headers, refusal?: string): void {
  reply.hijack();
  if (refusal === undefined) return void reply.raw.writeHead(status, headers).end();
  const body = JSON.stringify(new RailheadError('RH_REQUEST_INVALID', refusal).toBody());
  headers['Content-Type'] = 'application/json; charset=utf-8';
  headers['Content-Length'] = Buffer.byteLength(body);
  reply.raw.writeHead(status, headers).end(body);
}
