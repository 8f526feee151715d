import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { ensureAuthority, issueServerCertificate } from '../../server/access/certificate.ts';
import { tempFolder } from '../support/temp.ts';
import { type Shell, TestNode } from './node.ts';

export const BOOT_TOKEN = 'the-token-of-this-boot';

/** What a machine has asked for. */
export interface Asked {
  path: string;
  token: string | undefined;
  body: Record<string, unknown>;
}

interface Reply {
  status: number;
  body: string | Buffer;
}

interface Identity {
  host: string;
  generation: number;
  token: string;
}

const failure = (status: number, code: string, message: string): Reply => ({
  status,
  body: JSON.stringify({ error: { code, message } }),
});

/** Answers machines as the appliance does, and lets a test lose replies, revoke tokens and accept candidates. */
export class StandIn {
  readonly asked: Asked[] = [];
  url = '';
  readonly ca: string;
  /** The host that boots with the token. */
  host = 'n1';
  /** Whether an unknown secret becomes the identity. */
  isWindowOpen = true;
  isBootTokenValid = true;
  /** Accepts any secret, whatever the partition says. */
  isCareless = false;
  interval = 1;
  /** How many replies are lost from now on, after everything was done. */
  repliesToLose = 0;
  /** Answers nothing. */
  hangs = false;
  /** In place of the usual answer. */
  override: ((asked: Asked) => Reply | undefined) | undefined;
  readonly #identities = new Map<string, Identity>();
  #tokens = 0;

  private constructor(ca: string) {
    this.ca = ca;
  }

  static async start(): Promise<StandIn> {
    const authority = await ensureAuthority(await tempFolder(), new Date());
    const certificate = await issueServerCertificate(authority, ['127.0.0.1'], new Date());
    const standIn = new StandIn(authority.certificatePem);
    const server = createServer({ ...certificate }, (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const asked: Asked = {
          path: request.url ?? '',
          token: /^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1],
          body: JSON.parse(Buffer.concat(chunks).toString() || '{}'),
        };
        standIn.asked.push(asked);
        if (standIn.hangs) return;
        const { status, body } = standIn.override?.(asked) ?? standIn.#answer(asked);
        if (standIn.repliesToLose > 0) {
          standIn.repliesToLose--;
          request.socket.destroy();
          return;
        }
        response.writeHead(status, { 'content-type': 'text/plain' }).end(body);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    standIn.url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return standIn;
  }

  /** A machine that is configured for this server. */
  async machine(shell: Shell): Promise<TestNode> {
    const node = await TestNode.make(shell);
    await this.configure(node);
    return node;
  }

  async configure(node: TestNode, host = this.host): Promise<void> {
    await node.write('etc/node.env', `RAILHEAD_URL=${this.url}\nRAILHEAD_HOST=${host}\n`);
    await node.write('etc/ca.pem', this.ca);
    await node.write('etc/token', `${BOOT_TOKEN}\n`);
  }

  at(path: string): Asked[] {
    return this.asked.filter((asked) => asked.path === `/agent/v1/${path}`);
  }

  /** Of the secrets that were accepted. */
  get identities(): { secret: string; host: string; generation: number }[] {
    return [...this.#identities].map(([secret, { host, generation }]) => ({ secret, host, generation }));
  }

  /** As `railhead trust` does: the former machine is not the host any more. */
  trust(secret: string): void {
    const generation = Math.max(0, ...this.identities.map((identity) => identity.generation)) + 1;
    this.#identities.clear();
    this.#identities.set(secret, { host: this.host, generation, token: this.#newToken() });
  }

  /** The secrets stay known. */
  revokeTokens(): void {
    for (const identity of this.#identities.values()) identity.token = this.#newToken();
  }

  #newToken(): string {
    return `machine-token-${String(++this.#tokens).padStart(8, '0')}`;
  }

  #answer({ path, token, body }: Asked): Reply {
    if (path === '/agent/v1/register') return this.#register(token, body);
    const isKnown = [...this.#identities.values()].some((identity) => identity.token === token);
    if (!isKnown && !(path === '/agent/v1/stage' && token === BOOT_TOKEN)) {
      return failure(401, 'RH_UNAUTHENTICATED', 'This token is not valid.');
    }
    return { status: 200, body: `interval=${this.interval}\n` };
  }

  #register(token: string | undefined, body: Record<string, unknown>): Reply {
    const secret = String(body.secret);
    const partition = body.partition as { host: string } | undefined;
    if (!this.isCareless && partition !== undefined && partition.host !== this.host) {
      return failure(503, 'RH_CANDIDATE', `the data partition belongs to ${partition.host}`);
    }
    const known = this.#identities.get(secret);
    if (known === undefined) {
      if (token !== BOOT_TOKEN || !this.isBootTokenValid) {
        return failure(401, 'RH_UNAUTHENTICATED', 'This token is not valid.');
      }
      if (!this.isWindowOpen) return failure(503, 'RH_CANDIDATE', `an operator to trust it as ${this.host}`);
      this.isWindowOpen = false;
      this.trust(secret);
    }
    const identity = this.#identities.get(secret)!;
    const lines = Object.entries({ ...identity, interval: this.interval }).map(
      ([key, value]) => `${key}=${value}\n`,
    );
    return { status: 200, body: lines.join('') };
  }
}
