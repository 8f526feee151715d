import { readFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { adminTokenFile, authorityFiles } from '../access/key-files.ts';
import { DataFolder } from '../data-folder.ts';
import { type ErrorBody, RailheadError, systemCode } from '../errors.ts';
import { readIfThere } from '../secret-file.ts';
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
    return (await this.#json(await this.open('GET', path))) as T;
  }

  /** For what changes something: sends the admin token. */
  async post<T>(path: string): Promise<T> {
    const token = await this.#token();
    if (token === undefined) {
      throw new RailheadError('RH_UNAUTHENTICATED', 'This needs the admin token, and none was found.', {
        hint: `Run it as the user who owns the data folder ${this.#dataDir}, or give --token-file FILE.`,
      });
    }
    return (await this.#json(await this.open('POST', path, { authorization: `Bearer ${token}` }))) as T;
  }

  /** The raw answer, for streams. */
  open(method: string, path: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
    const url = new URL(path, this.url);
    const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
    return new Promise((resolve, reject) => {
      const outgoing = request(url, { method, headers, ...(this.#ca === undefined ? {} : { ca: this.#ca }) });
      outgoing.on('response', resolve);
      outgoing.on('error', (error) => reject(this.#explain(error)));
      outgoing.end();
    });
  }

  async #json(response: IncomingMessage): Promise<unknown> {
    let text = '';
    response.setEncoding('utf8');
    for await (const chunk of response) text += chunk;
    let body: unknown;
    try {
      body = JSON.parse(text);
    } catch {
      throw new RailheadError(
        'RH_SERVER_ANSWER',
        `${this.url} answered with something that is not Railhead's.`,
      );
    }
    if ((response.statusCode ?? 500) < 400) return body;
    const { error } = body as Partial<ErrorBody>;
    if (error === undefined) return body; // such as /readyz, whose 503 carries the reasons
    throw new RailheadError(error.code, error.message, error.hint === undefined ? {} : { hint: error.hint });
  }

  #explain(error: unknown): unknown {
    const code = systemCode(error) ?? '';
    if (/^(ECONNREFUSED|ECONNRESET|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EAI_AGAIN)$/.test(code)) {
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
    return error;
  }
}

/** Finds the server by --server or by the data folder; says so when there is none. */
export async function connect(io: CliIo, flags: ServerFlags): Promise<Client> {
  const { data } = await settingsFor(io, flags);
  const folder = new DataFolder(data);
  const token = async (): Promise<string | undefined> => {
    const file =
      flags.tokenFile === undefined ? adminTokenFile(folder.keys) : resolve(io.cwd, flags.tokenFile);
    return (await readIfThere(file))?.trim();
  };
  const given = flags.server ?? io.env.RAILHEAD_SERVER;
  if (given !== undefined) {
    if (!/^https?:\/\//.test(given) || !URL.canParse(given)) {
      throw new RailheadError(
        'RH_USAGE',
        `--server: expected a URL such as http://10.0.0.5:8080, got "${given}"`,
      );
    }
    const caFile =
      flags.ca === undefined ? authorityFiles(folder.keys).certificate : resolve(io.cwd, flags.ca);
    const ca = flags.ca === undefined ? await readIfThere(caFile) : readFileSync(caFile, 'utf8');
    return new Client({ url: given, token, dataDir: data, ...(ca === undefined ? {} : { ca }) });
  }
  const running = await folder.running();
  if (running === undefined) {
    throw new RailheadError('RH_SERVER_NOT_RUNNING', `No Railhead is running on the data folder ${data}.`, {
      hint: 'Start it with `npm start`, or say which one you mean with --data DIR or --server URL.',
    });
  }
  return new Client({ url: running.url, token, dataDir: data });
}
