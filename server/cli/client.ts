import { constants } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import type { Command } from 'commander';
import { adminTokenFile, authorityFiles } from '../access/key-files.ts';
import { DataFolder } from '../data-folder.ts';
import { type ErrorBody, type ErrorCode, RailheadError, systemCode } from '../errors.ts';
import { API_HEADER } from '../http/api-header.ts';
import type { CliIo } from './io.ts';
import { settingsFor, withSettings } from './settings.ts';

/** Flags that say which running server is meant. */
export function withServer(command: Command): Command {
  return withSettings(command, ['data'])
    .option('--server <URL>', 'Address of the server (RAILHEAD_SERVER); default: the one on the data folder')
    .option('--token-file <FILE>', 'File with the admin token; default: the one in the data folder')
    .option('--ca <FILE>', 'CA certificate of an https:// server; default: the one in the data folder');
}

export interface ServerFlags extends Record<string, unknown> {
  server?: string;
  tokenFile?: string;
  ca?: string;
}

/** Longer than a reload takes, and than the pauses between the heartbeats of a stream. */
const SILENCE_MS = 60_000;

/** The running server that a command talks to. */
export class Client {
  readonly url: string;
  readonly #token: () => Promise<string | undefined>;
  readonly #ca: string | undefined;
  readonly #dataDir: string;

  constructor(options: {
    url: string;
    token: () => Promise<string | undefined>;
    ca?: string;
    dataDir: string;
  }) {
    this.url = options.url;
    this.#token = options.token;
    this.#ca = options.ca;
    this.#dataDir = options.dataDir;
  }

  async get<T>(path: string): Promise<T> {
    return (await this.#json(await this.#open('GET', path))) as T;
  }

  /** An answer that is no JSON, such as a menu. */
  async text(path: string, { asAdmin = false } = {}): Promise<string> {
    const response = await this.#open('GET', path, asAdmin ? await this.#authorization() : {});
    if (response.statusCode !== 200) await this.#json(response);
    let text = '';
    response.setEncoding('utf8');
    for await (const chunk of response) text += chunk;
    return text;
  }

  /** For what changes something: sends the admin token. */
  post<T>(path: string, body?: unknown): Promise<T> {
    return this.#change<T>('POST', path, body);
  }

  delete<T>(path: string): Promise<T> {
    return this.#change<T>('DELETE', path);
  }

  /** Sends a file, as it is read; `body` has exactly this many bytes. */
  async upload<T>(path: string, body: Readable, bytes: number): Promise<T> {
    const headers = {
      ...(await this.#authorization()),
      'content-type': 'application/octet-stream',
      'content-length': String(bytes),
    };
    return (await this.#json(await this.#open('POST', path, headers, body))) as T;
  }

  async #change<T>(method: string, path: string, body?: unknown): Promise<T> {
    const headers = await this.#authorization();
    if (body === undefined) return (await this.#json(await this.#open(method, path, headers))) as T;
    headers['content-type'] = 'application/json';
    return (await this.#json(await this.#open(method, path, headers, JSON.stringify(body)))) as T;
  }

  async #authorization(): Promise<Record<string, string>> {
    const token = await this.#token();
    if (token === undefined) {
      throw new RailheadError('RH_UNAUTHENTICATED', 'This needs the admin token, and none was found.', {
        hint: `Run it as the user who owns the data folder ${this.#dataDir}, or give --token-file FILE.`,
      });
    }
    return { authorization: `Bearer ${token}` };
  }

  /** An answer that goes on and on. */
  async stream(path: string): Promise<IncomingMessage> {
    const response = await this.#open('GET', path);
    if (response.statusCode !== 200) await this.#json(response);
    return response;
  }

  #open(
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: string | Readable,
  ): Promise<IncomingMessage> {
    const url = new URL(path, this.url);
    const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
    return new Promise((resolve, reject) => {
      const outgoing = request(url, { method, headers, ...(this.#ca === undefined ? {} : { ca: this.#ca }) });
      outgoing.setTimeout(SILENCE_MS, () =>
        outgoing.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })),
      );
      outgoing.on('response', (response) => {
        if (typeof body === 'object') {
          // What is refused needs no rest, and nobody waits for it.
          body.destroy();
          response.once('end', () => outgoing.destroy());
        }
        resolve(response);
      });
      outgoing.on('error', (error) => reject(this.#explain(error)));
      if (typeof body !== 'object') return void outgoing.end(body);
      body.on('error', (error) => {
        outgoing.destroy();
        reject(error);
      });
      body.pipe(outgoing);
    });
  }

  async #json(response: IncomingMessage): Promise<unknown> {
    let text = '';
    response.setEncoding('utf8');
    try {
      for await (const chunk of response) text += chunk;
    } catch (error) {
      throw this.#explain(error);
    }
    // Whatever else listens there may speak JSON, too.
    if (response.headers[API_HEADER] === undefined) throw this.#foreign();
    let body: unknown;
    try {
      body = JSON.parse(text);
    } catch {
      throw this.#foreign();
    }
    if ((response.statusCode ?? 500) < 400) return body;
    const { error } = body as Partial<ErrorBody>;
    if (error === undefined) return body; // such as /readyz, whose 503 carries the reasons
    const { code, message, hint } = error;
    if (!isKnown(code)) {
      throw new RailheadError('RH_SERVER_ANSWER', `${message} (${code}, which this version doesn't know)`);
    }
    throw new RailheadError(code, message, hint === undefined ? {} : { hint });
  }

  #explain(error: unknown): RailheadError {
    const code = systemCode(error) ?? (error as Error).message;
    if (/^(ECONNREFUSED|ECONNRESET|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EAI_\w+)$/.test(code)) {
      return new RailheadError('RH_SERVER_NOT_RUNNING', `No Railhead answers at ${this.url} (${code}).`, {
        hint: 'Start it with `npm start`, or say where it is with --server URL.',
        cause: error,
      });
    }
    if (/CERT|SELF_SIGNED|UNABLE_TO/.test(code)) {
      return new RailheadError(
        'RH_SERVER_ANSWER',
        `The certificate of ${this.url} is not trusted (${code}).`,
        {
          hint: 'Give the CA certificate of that appliance with --ca FILE; it is keys/ca.pem in its data folder.',
          cause: error,
        },
      );
    }
    return this.#foreign(error);
  }

  /** A program that doesn't speak HTTP, TLS, or our JSON. */
  #foreign(cause?: unknown): RailheadError {
    return new RailheadError('RH_SERVER_ANSWER', `What answers at ${this.url} is not a Railhead.`, {
      hint: 'Look at the address and the port; http:// and https:// have different ones.',
      cause,
    });
  }
}

/** A newer server may have codes that this version has not. */
function isKnown(code: ErrorCode): boolean {
  try {
    return typeof new RailheadError(code, '').exitCode === 'number';
  } catch {
    return false;
  }
}

/** The server that was asked for, if one was. */
export function wantedServer(io: CliIo, flags: ServerFlags): string | undefined {
  return flags.server ?? (io.env.RAILHEAD_SERVER || undefined);
}

/** Finds the server by --server or by the data folder; says so when there is none. */
export async function connect(io: CliIo, flags: ServerFlags): Promise<Client> {
  const { data } = await settingsFor(io, flags);
  const folder = new DataFolder(data);
  const token = async (): Promise<string | undefined> => {
    const given = flags.tokenFile === undefined ? undefined : resolve(io.cwd, flags.tokenFile);
    const text = await readGiven('--token-file', given, adminTokenFile(folder.keys));
    const found = text?.trim();
    if (found === undefined || /^[!-~]+$/.test(found)) return found;
    throw new RailheadError('RH_UNAUTHENTICATED', 'The file with the admin token has something else in it.');
  };
  const given = wantedServer(io, flags);
  if (given !== undefined) {
    if (!/^https?:\/\//.test(given) || !URL.canParse(given)) {
      throw new RailheadError(
        'RH_USAGE',
        `--server: expected a URL such as http://10.0.0.5:8080, got "${given}"`,
      );
    }
    const caFile = flags.ca === undefined ? undefined : resolve(io.cwd, flags.ca);
    const ca = await readGiven('--ca', caFile, authorityFiles(folder.keys).certificate);
    if (caFile !== undefined && ca?.includes('-----BEGIN CERTIFICATE-----') !== true) {
      throw new RailheadError('RH_USAGE', `--ca: there is no certificate in ${caFile}.`);
    }
    return new Client({ url: given, token, dataDir: data, ...(ca === undefined ? {} : { ca }) });
  }
  const running = await folder.running();
  if (running === undefined) throw await notRunning(data);
  return new Client({ url: running.url, token, dataDir: data });
}

/** The file that a flag names must be readable; the one in the data folder may be missing, or not ours to read. */
async function readGiven(
  flag: string,
  given: string | undefined,
  fallback: string,
): Promise<string | undefined> {
  try {
    return await readFile(given ?? fallback, 'utf8');
  } catch (error) {
    if (given === undefined) return undefined;
    throw new RailheadError('RH_USAGE', `${flag}: can't read ${given} (${systemCode(error)}).`, {
      cause: error,
    });
  }
}

async function notRunning(data: string): Promise<RailheadError> {
  const isClosed = await access(data, constants.R_OK | constants.X_OK).then(
    () => false,
    (error: unknown) => systemCode(error) === 'EACCES',
  );
  if (isClosed) {
    return new RailheadError('RH_SERVER_NOT_RUNNING', `There is no right to read the data folder ${data}.`, {
      hint: 'Run it as the user who owns it, or say where the server is with --server URL.',
    });
  }
  return new RailheadError('RH_SERVER_NOT_RUNNING', `No Railhead is running on the data folder ${data}.`, {
    hint: 'Start it with `npm start`, or say which one you mean with --data DIR or --server URL.',
  });
}
