import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';

export interface FetchOptions {
  method?: 'GET' | 'POST';
  headers?: Readonly<Record<string, string>>;
  body?: string;
  /** Certificates to trust, as PEM. */
  authorities?: readonly string[];
  /** The machine's own address, where it has one. */
  localAddress?: string | undefined;
  signal: AbortSignal;
  onBytes: (count: number) => void;
  /** How many bytes of the body are kept; the rest is only counted. */
  keep: number;
}

export interface Fetched {
  status: number;
  bytes: number;
  kept: Buffer;
}

/** The connection failed, or what came is not what was announced. */
export class FetchFault extends Error {}

/** Longer than any pause of a server that is alive. */
export const SILENCE_MS = 30_000;

/** One request on a connection of its own, as iPXE and Ignition make them. */
export function httpFetch(url: string, options: FetchOptions): Promise<Fetched> {
  const { method = 'GET', headers = {}, body, authorities, localAddress, signal } = options;
  const { protocol } = new URL(url);
  const request = protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const fail = (error: Error): void =>
      reject(signal.aborted ? signal.reason : new FetchFault(reasonOf(error)));
    const outgoing = request(url, {
      method,
      headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
      agent: false,
      signal,
      ...(localAddress === undefined ? {} : { localAddress }),
      ...(authorities === undefined ? {} : { ca: [...authorities] }),
    });
    outgoing.setTimeout(SILENCE_MS, () =>
      outgoing.destroy(new Error(`no answer for ${SILENCE_MS / 1000} s`)),
    );
    outgoing.on('error', fail);
    outgoing.on('response', (response) => {
      const counter = new BodyCounter(response.headers['content-length'], options);
      response.on('data', (chunk: Buffer) => counter.add(chunk));
      response.on('error', fail);
      response.on('end', () => {
        const fault = counter.fault;
        if (fault !== undefined) return fail(new Error(fault));
        resolve({ status: response.statusCode ?? 0, ...counter.result });
      });
    });
    outgoing.end(body);
  });
}

/** Counts a body while it streams by, keeps its beginning, and knows whether it is whole. */
export class BodyCounter {
  readonly #announced: number | undefined;
  readonly #onBytes: (count: number) => void;
  readonly #kept: Buffer[] = [];
  #room: number;
  #bytes = 0;

  constructor(contentLength: string | undefined, { keep, onBytes }: Pick<FetchOptions, 'keep' | 'onBytes'>) {
    this.#announced = contentLength === undefined ? undefined : Number(contentLength);
    this.#room = keep;
    this.#onBytes = onBytes;
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    this.#onBytes(chunk.length);
    if (this.#room <= 0) return;
    this.#kept.push(Buffer.from(chunk.subarray(0, this.#room)));
    this.#room -= chunk.length;
  }

  /** Why it is not what was announced. */
  get fault(): string | undefined {
    if (this.#announced === undefined || this.#announced === this.#bytes) return undefined;
    return `${this.#bytes} of ${this.#announced} bytes came`;
  }

  get result(): { bytes: number; kept: Buffer } {
    return { bytes: this.#bytes, kept: Buffer.concat(this.#kept) };
  }
}

function reasonOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  return code ?? error.message;
}
