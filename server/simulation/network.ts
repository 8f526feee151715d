import { ERROR_CODE } from '../tftp/codec.ts';
import { http10Get } from './http-10.ts';
import { type Fetched, FetchFault, type FetchOptions, httpFetch } from './http-fetch.ts';
import { type TftpServerAddress, tftpGet } from './tftp-client.ts';
import type { AskedTerms } from './tftp-download.ts';
import { BootOver, Fault, Trouble } from './trouble.ts';

/** What is told about a machine's traffic. */
export interface TrafficWitness {
  bytes(by: 'tftp' | 'http', count: number): void;
  request(by: 'tftp' | 'http'): void;
  retransmits(count: number): void;
}

export interface NetworkOptions {
  tftp: TftpServerAddress;
  localAddress?: string | undefined;
  isLost: () => boolean;
  signal: AbortSignal;
  witness: TrafficWitness;
}

/** Menus, scripts and configurations: what is longer is none. */
const MAX_TEXT_BYTES = 4 * 1024 * 1024;

export interface HttpRequest extends Pick<FetchOptions, 'method' | 'headers' | 'body' | 'authorities'> {
  /** HTTP/1.0, as lpxelinux speaks it. */
  asSyslinux?: boolean;
}

/** A machine's network card: every answer is a text, a count of bytes, or the kind of failure that it is to a machine. */
export class Network {
  readonly #options: NetworkOptions;

  constructor(options: NetworkOptions) {
    this.#options = options;
  }

  /** A small file; `undefined` when there is none of that name. */
  async tftpText(file: string, terms: AskedTerms): Promise<string | undefined> {
    return (await this.#tftp(file, terms, MAX_TEXT_BYTES))?.toString('utf8');
  }

  /** A file whose content is of no interest; whether it is there. */
  async tftpFile(file: string, terms: AskedTerms): Promise<boolean> {
    return (await this.#tftp(file, terms, 0)) !== undefined;
  }

  async httpText(url: string, request: HttpRequest = {}): Promise<Buffer> {
    return (await this.#http(url, request, MAX_TEXT_BYTES)).kept;
  }

  /** A file whose content is of no interest. */
  async httpFile(url: string, request: HttpRequest = {}): Promise<void> {
    const { bytes } = await this.#http(url, request, 0);
    if (bytes === 0) throw new Trouble(`${pathOf(url)} is empty`);
  }

  async #tftp(file: string, terms: AskedTerms, keep: number): Promise<Buffer | undefined> {
    const { tftp, localAddress, isLost, signal, witness } = this.#options;
    witness.request('tftp');
    const onBytes = (count: number): void => witness.bytes('tftp', count);
    const got = await tftpGet(tftp, file, { terms, localAddress, isLost, signal, onBytes, keep }).catch(
      (error: Error) => {
        throw signal.aborted ? error : new Trouble(`TFTP: ${error.message}`);
      },
    );
    witness.retransmits(got.retransmits);
    const { ending } = got;
    switch (ending.result) {
      case 'done':
        return got.kept;
      case 'refused':
        if (ending.code === ERROR_CODE.notFound) return undefined;
        // Such as a limit of transfers at once: firmware asks again.
        throw new Trouble(`TFTP: ${ending.message || `error ${ending.code}`}`);
      case 'failed':
        throw new Trouble(ending.reason);
    }
  }

  async #http(url: string, { asSyslinux, ...request }: HttpRequest, keep: number): Promise<Fetched> {
    const { localAddress, signal, witness } = this.#options;
    witness.request('http');
    const onBytes = (count: number): void => witness.bytes('http', count);
    const fetch = asSyslinux ? http10Get : httpFetch;
    if (!URL.canParse(url)) throw new Fault(`${url} is not a URL`);
    const fetched = await fetch(url, { ...request, localAddress, signal, onBytes, keep }).catch(
      (error: Error) => {
        throw error instanceof FetchFault ? new Trouble(`HTTP: ${error.message}`) : error;
      },
    );
    const { status } = fetched;
    if (status < 300) return fetched;
    const what = `HTTP ${status} for ${pathOf(url)}`;
    if (status >= 500 || status === 408 || status === 429) throw new Trouble(what);
    // The token is known no more.
    if (status === 401 || status === 404) throw new BootOver(what);
    throw new Fault(what);
  }
}

/** Without the token, which is nobody else's business and would make every message another. */
function pathOf(url: string): string {
  return new URL(url).pathname.replace(/^\/boot\/[^/]+\//, '/boot/…/');
}
