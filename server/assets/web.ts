import { type LookupAddress, lookup as lookupName } from 'node:dns';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { promisify } from 'node:util';
import { systemCode } from '../errors.ts';
import { FetchFault } from './fault.ts';
import { mayLeadTo, type Scope, scopeOf } from './scope.ts';
import { shownUrl } from './shown-url.ts';

export interface WebOptions {
  /** As the variables of the same name say it; Node knows their rules. */
  proxy?: {
    HTTP_PROXY?: string | undefined;
    HTTPS_PROXY?: string | undefined;
    NO_PROXY?: string | undefined;
  };
  /** For the head of an answer, with all redirects. */
  answerMs?: number;
  userAgent: string;
  /** The addresses of a name and how near they are; for tests. */
  resolveHost?: (name: string) => Promise<(LookupAddress & { scope: Scope })[]>;
}

export interface OpenOptions {
  method?: 'GET' | 'HEAD';
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

export interface Answer {
  response: IncomingMessage;
  /** Where it came from in the end. */
  url: URL;
}

const MAX_REDIRECTS = 5;
const ANSWER_MS = 30_000;

/**
 * HTTP as the mirror needs it: the head of an answer within a deadline, and redirects with a policy. A server may send
 * us on, but only by HTTP or HTTPS, not from HTTPS back to HTTP, and never to what is nearer to us than the server
 * that was configured: no mirror gets to ask this machine's own ports through us.
 */
export class Web {
  readonly #options: WebOptions;
  readonly #agents: { 'http:': HttpAgent; 'https:': HttpsAgent };

  constructor(options: WebOptions) {
    this.#options = options;
    const { NO_PROXY } = options.proxy ?? {};
    const [HTTP_PROXY, HTTPS_PROXY] = [options.proxy?.HTTP_PROXY, options.proxy?.HTTPS_PROXY].map(withScheme);
    const proxyEnv = Object.fromEntries(
      Object.entries({ HTTP_PROXY, HTTPS_PROXY, NO_PROXY }).filter(([, value]) => value !== undefined),
    );
    // No connection is used twice: the address of each is judged when it is made.
    const agentOptions = { keepAlive: false, proxyEnv };
    this.#agents = { 'http:': new HttpAgent(agentOptions), 'https:': new HttpsAgent(agentOptions) };
  }

  stop(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }

  /** The caller reads the answer's body or destroys it. Redirects are followed; no other status is judged. */
  async open(address: string, { method = 'GET', headers = {}, signal }: OpenOptions = {}): Promise<Answer> {
    const deadline = AbortSignal.timeout(this.#options.answerMs ?? ANSWER_MS);
    const base: Base = { scope: 'public' };
    let url = parseHttpUrl(address);
    for (let hop = 0; ; hop++) {
      const response = await this.#ask(url, { method, headers }, base, hop === 0, deadline, signal);
      const { statusCode = 0, headers: answered } = response;
      if (![301, 302, 303, 307, 308].includes(statusCode) || answered.location === undefined)
        return { response, url };
      response.destroy();
      if (hop === MAX_REDIRECTS)
        throw new FetchFault(`${shownUrl(address)} redirects more than ${MAX_REDIRECTS} times.`);
      url = followed(url, answered.location);
    }
  }

  #ask(
    url: URL,
    { method, headers }: { method: string; headers: Record<string, string> },
    base: Base,
    isBase: boolean,
    deadline: AbortSignal,
    signal: AbortSignal | undefined,
  ): Promise<IncomingMessage> {
    const admit = (scope: Scope): void => {
      if (isBase) base.scope = scope;
      else if (!mayLeadTo(base.scope, scope))
        throw new FetchFault(`A redirect to ${shownUrl(url)} was refused: it leads to a ${scope} address.`);
    };
    const host = url.hostname.replaceAll(/[[\]]/g, '');
    if (isIP(host) !== 0) admit(scopeOf(host));
    const isHttps = url.protocol === 'https:';
    return new Promise((resolve, reject) => {
      const outgoing = (isHttps ? httpsRequest : httpRequest)(url, {
        method,
        agent: isHttps ? this.#agents['https:'] : this.#agents['http:'],
        headers: {
          'user-agent': this.#options.userAgent,
          // Bytes as they are: a resumed or hashed file must not depend on a server's compressor.
          'accept-encoding': 'identity',
          ...headers,
        },
        lookup: this.#lookup(host, admit),
      });
      const late = (): void =>
        void outgoing.destroy(new FetchFault(`${shownUrl(url)} does not answer.`, { passes: true }));
      const stop = (): void => void outgoing.destroy(signal?.reason as Error);
      const settle = (): void => {
        deadline.removeEventListener('abort', late);
        signal?.removeEventListener('abort', stop);
      };
      deadline.addEventListener('abort', late, { once: true });
      signal?.addEventListener('abort', stop, { once: true });
      if (signal?.aborted) stop();
      outgoing.on('response', (response) => {
        settle();
        resolve(response);
      });
      outgoing.on('error', (error) => {
        settle();
        reject(signal?.aborted ? signal.reason : explain(error, url));
      });
      outgoing.end();
    });
  }

  /** Names are judged by what they really lead to; a proxy's own name is none of the server's doing. */
  #lookup(target: string, admit: (scope: Scope) => void): LookupFunction {
    return (name, options, callback) => {
      const answer = async () => {
        const found = await (this.#options.resolveHost ?? resolveHost)(name);
        const fit = found.filter(({ family }) => !options.family || family === options.family);
        if (name === target) for (const { scope } of nearestFirst(fit)) admit(scope);
        return fit;
      };
      answer().then(
        (found) =>
          options.all
            ? callback(null, found)
            : callback(null, found[0]?.address ?? '', found[0]?.family ?? 4),
        (error: NodeJS.ErrnoException) => callback(error, ''),
      );
    };
  }
}

/** How near the configured server is. */
interface Base {
  scope: Scope;
}

/** The farthest last, so that a server with several addresses counts as the farthest of them. */
function nearestFirst<T extends { scope: Scope }>(found: readonly T[]): T[] {
  return found.toSorted((a, b) => (mayLeadTo(a.scope, b.scope) ? -1 : 1));
}

/** curl and others take `proxy:3128`; Node does not. */
function withScheme(proxy: string | undefined): string | undefined {
  return proxy === undefined || /^https?:\/\//.test(proxy) ? proxy : `http://${proxy}`;
}

function parseHttpUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new FetchFault(`${JSON.stringify(text)} is no http:// or https:// address.`);
  return url;
}

function followed(from: URL, location: string): URL {
  const to = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  if (to === undefined || !/^https?:$/.test(to.protocol)) {
    throw new FetchFault(
      `${shownUrl(from)} redirects to something that is not http:// or https://: refused.`,
    );
  }
  if (from.protocol === 'https:' && to.protocol === 'http:')
    throw new FetchFault(`${shownUrl(from)} redirects from HTTPS to plain HTTP: refused.`);
  return to;
}

async function resolveHost(name: string): Promise<(LookupAddress & { scope: Scope })[]> {
  const found = await promisify(lookupName)(name, { all: true });
  return found.map((each) => ({ ...each, scope: scopeOf(each.address) }));
}

function explain(error: NodeJS.ErrnoException, url: URL): unknown {
  if (error instanceof FetchFault) return error;
  const code = systemCode(error) ?? error.message;
  const passes = !/CERT|SELF_SIGNED|UNABLE_TO|ERR_TLS|ERR_INVALID/.test(code);
  return new FetchFault(`${shownUrl(url)} can't be reached (${code}).`, { passes, cause: error });
}
