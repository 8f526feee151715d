import { connect } from 'node:net';
import { BodyCounter, type Fetched, FetchFault, type FetchOptions, SILENCE_MS } from './http-fetch.ts';

/** Heads are small; what is longer is none. */
const MAX_HEAD_BYTES = 16 * 1024;

/** GET as lpxelinux does it: HTTP/1.0, one connection for each file, which ends with the connection. */
export function http10Get(url: string, options: FetchOptions): Promise<Fetched> {
  const { localAddress, signal } = options;
  const { hostname, port, host, pathname, search } = new URL(url);
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const answer = new Http10Answer(options);
    const socket = connect({
      host: hostname.replaceAll(/[[\]]/g, ''),
      port: Number(port || 80),
      ...(localAddress === undefined ? {} : { localAddress }),
    });
    const onAbort = (): void => void socket.destroy(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    socket.setTimeout(SILENCE_MS, () => socket.destroy(new Error(`no answer for ${SILENCE_MS / 1000} s`)));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      reject(signal.aborted ? signal.reason : new FetchFault(error.code ?? error.message));
    });
    socket.on('data', (chunk) => {
      const fault = answer.add(chunk);
      if (fault !== undefined) socket.destroy(new Error(fault));
    });
    socket.on('close', () => {
      signal.removeEventListener('abort', onAbort);
      const end = answer.end();
      if ('fault' in end) reject(new FetchFault(end.fault));
      else resolve(end);
    });
    socket.write(
      `GET ${pathname}${search} HTTP/1.0\r\nHost: ${host}\r\nUser-Agent: Syslinux/6.04\r\nConnection: close\r\n\r\n`,
    );
  });
}

/** An answer as it comes in, piece by piece. */
export class Http10Answer {
  readonly #options: Pick<FetchOptions, 'keep' | 'onBytes'>;
  #head = Buffer.alloc(0);
  #status = 0;
  #body: BodyCounter | undefined;

  constructor(options: Pick<FetchOptions, 'keep' | 'onBytes'>) {
    this.#options = options;
  }

  /** Why it can't go on, or `undefined`. */
  add(chunk: Buffer): string | undefined {
    if (this.#body !== undefined) return void this.#body.add(chunk);
    this.#head = Buffer.concat([this.#head, chunk]);
    const end = this.#head.indexOf('\r\n\r\n');
    if (end < 0)
      return this.#head.length > MAX_HEAD_BYTES ? 'the head of the answer does not end' : undefined;
    const [first = '', ...fields] = this.#head.toString('latin1', 0, end).split('\r\n');
    const status = /^HTTP\/1\.[01] (\d{3})/.exec(first)?.[1];
    if (status === undefined) return 'the answer is not HTTP';
    this.#status = Number(status);
    const length = fields.find((field) => /^content-length:/i.test(field))?.split(':')[1];
    this.#body = new BodyCounter(length?.trim(), this.#options);
    const rest = this.#head.subarray(end + 4);
    this.#head = Buffer.alloc(0);
    if (rest.length > 0) this.#body.add(rest);
    return undefined;
  }

  /** The connection is closed. */
  end(): Fetched | { fault: string } {
    if (this.#body === undefined) return { fault: 'the connection was closed without an answer' };
    const { fault } = this.#body;
    return fault === undefined ? { status: this.#status, ...this.#body.result } : { fault };
  }
}
