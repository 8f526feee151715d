import type { ClusterSpec, HostSpec } from '../inventory/model.ts';
import { insertToken, removeToken, type TokenRow, tokensOf } from '../store/clusters.ts';
import type { Db } from '../store/store.ts';
import {
  BOOTSTRAP_GROUP,
  descriptionOf,
  idOfToken,
  makeBootstrapToken,
  tokenSecret,
} from './bootstrap-token.ts';
import { membersOf } from './endpoint.ts';
import type { InitToken } from './kubeadm-values.ts';
import { type ClusterApi, statusOf } from './kubernetes-api.ts';
import type { SecretsStore } from './secrets-store.ts';

const HOUR = 3_600_000;
/** What `kubeadm init` makes known: the others may take a day to be switched on. */
const INIT_TOKEN_HOURS = 24;
const JOIN_TOKEN_HOURS = 1;
/** A token that ends sooner than this is not given out any more. */
const MARGIN_MS = 10 * 60_000;
/** Each is a Secret that `kubeadm init` makes, one after another; who comes later gets one through the API. */
const MAX_INIT_TOKENS = 32;

export interface TokensOptions {
  now: () => number;
  secrets: SecretsStore;
}

/** Bootstrap tokens: each is for one host, and goes when that has joined. */
export class Tokens {
  readonly #options: TokensOptions;

  constructor(options: TokensOptions) {
    this.#options = options;
  }

  /** Those that the first host makes known: the same ones, however often it asks. */
  async forInit(
    db: Db,
    cluster: ClusterSpec,
    first: HostSpec,
    hosts: readonly HostSpec[],
  ): Promise<InitToken[]> {
    const known = (await tokensOf(db, cluster.name)).filter(({ in_init: inInit }) => inInit === 1);
    // Read back, so that they come in the same order every time.
    if (known.length === 0) await this.#makeForInit(db, cluster, first, hosts);
    const rows = known.length > 0 ? known : await tokensOf(db, cluster.name);
    return rows.map((row) => ({
      token: this.#reveal(row),
      description: descriptionOf(row.host),
      ttl: `${INIT_TOKEN_HOURS}h0m0s`,
      usages: ['signing', 'authentication'],
      groups: [BOOTSTRAP_GROUP],
    }));
  }

  async #makeForInit(
    db: Db,
    cluster: ClusterSpec,
    first: HostSpec,
    hosts: readonly HostSpec[],
  ): Promise<void> {
    const others = membersOf(cluster, hosts).filter(({ name }) => name !== first.name);
    // Given none, kubeadm would make one that nobody knows of.
    const owners = others.length === 0 ? [first] : byRole(others).slice(0, MAX_INIT_TOKENS);
    for (const { name } of owners) await this.#make(db, cluster.name, name, INIT_TOKEN_HOURS, 1);
  }

  /** The one that this host joins with. */
  async forJoin(db: Db, cluster: string, host: string): Promise<TokenRow> {
    const soon = this.#options.now() + MARGIN_MS;
    const known = (await tokensOf(db, cluster)).find(
      (row) => row.host === host && row.used_at === null && row.expires_at > soon,
    );
    return known ?? this.#make(db, cluster, host, JOIN_TOKEN_HOURS, 0);
  }

  /** Sees that the API knows it. One that it knows already, such as those of `kubeadm init`, is fine. */
  async publish(api: ClusterApi, row: TokenRow): Promise<string> {
    const token = this.#reveal(row);
    try {
      await api.createToken(tokenSecret(token, row.host, new Date(row.expires_at)));
    } catch (error) {
      if (statusOf(error) !== 409) throw error;
    }
    return token;
  }

  /** Takes those from the API that were used or are over. A crash in between leaves them for the next time. */
  async sweep(db: Db, api: ClusterApi, cluster: string): Promise<void> {
    const now = this.#options.now();
    for (const { id, used_at: usedAt, expires_at: expiresAt } of await tokensOf(db, cluster)) {
      if (usedAt === null && expiresAt > now) continue;
      await api.deleteToken(id);
      await removeToken(db, id);
    }
  }

  async #make(db: Db, cluster: string, host: string, hours: number, inInit: 0 | 1): Promise<TokenRow> {
    const token = makeBootstrapToken();
    const now = this.#options.now();
    const id = idOfToken(token);
    const row: TokenRow = {
      id,
      cluster,
      host,
      sealed: this.#options.secrets.seal(token, aboutToken(id)),
      created_at: now,
      expires_at: now + hours * HOUR,
      in_init: inInit,
      used_at: null,
    };
    await insertToken(db, row);
    return row;
  }

  #reveal({ id, sealed }: TokenRow): string {
    return this.#options.secrets.unseal(sealed, aboutToken(id));
  }
}

function aboutToken(id: string): string {
  return `bootstrap token ${id}`;
}

/** Control-plane hosts first: they are waited for. */
function byRole(hosts: readonly HostSpec[]): HostSpec[] {
  return hosts.toSorted((a, b) => Number(a.role === 'worker') - Number(b.role === 'worker'));
}
