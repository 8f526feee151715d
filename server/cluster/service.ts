import { didYouMean } from '../document/nearest.ts';
import { RailheadError } from '../errors.ts';
import type { EventLog } from '../events/log.ts';
import type { SecretReader } from '../ignition/secrets.ts';
import type { InventoryIndex } from '../inventory/index.ts';
import type { ClusterSpec, HostSpec } from '../inventory/model.ts';
import {
  findCluster,
  findInitClaim,
  forgetInit,
  listClusters,
  listInitClaims,
  replaceSecrets,
  retireTokens,
  tokensOf,
} from '../store/clusters.ts';
import type { Db, Store } from '../store/store.ts';
import type { TemplateFolders } from '../templating/template-folders.ts';
import { ClusterAccess } from './access.ts';
import { type ClusterDescription, describeCluster } from './describe.ts';
import { type Endpoint, endpointOf, formatEndpoint } from './endpoint.ts';
import { type JoinAsker, Joins, type KubeadmAnswer } from './joins.ts';
import { ADMINS, makeKubeconfig } from './kubeconfig.ts';
import type { ApiNode, ClusterApi } from './kubernetes-api.ts';
import { previewKubeadm } from './preview.ts';
import { type Sealer, SecretsStore } from './secrets-store.ts';
import { Tokens } from './tokens.ts';
import { type ApiStatus, ClusterWatch, type ClusterWatchOptions, type WatchTarget } from './watch.ts';

const HOUR = 3_600_000;
/** For people; 8 hours unless they say otherwise. */
export const MAX_KUBECONFIG_HOURS = 24 * 7;

export interface ClusterServiceOptions {
  store: Store;
  events: EventLog;
  now: () => number;
  vault: Sealer;
  inventory: () => InventoryIndex;
  templates: TemplateFolders;
  readSecret: SecretReader;
  isNews: (source: string, what: string) => boolean;
  onFault: (error: unknown) => void;
  /** For tests: another way to an API, and how often it is asked. */
  openApi?: (kubeconfig: string) => Promise<ClusterApi>;
  pace?: ClusterWatchOptions['pace'];
}

/** Everything about clusters: their secrets, who may begin and join, who may get in, and how they are. */
export class ClusterService {
  readonly secrets: SecretsStore;
  readonly #options: ClusterServiceOptions;
  readonly #tokens: Tokens;
  readonly #joins: Joins;
  readonly #access: ClusterAccess;
  readonly #watch: ClusterWatch;

  constructor(options: ClusterServiceOptions) {
    const { store, events, now, vault, inventory, templates, readSecret, isNews, onFault } = options;
    this.#options = options;
    this.secrets = new SecretsStore({ store, events, now, vault });
    this.#tokens = new Tokens({ now, secrets: this.secrets });
    this.#access = new ClusterAccess({
      now,
      secrets: this.secrets,
      endpointOf: (cluster) => this.#endpoint(cluster),
      ...(options.openApi === undefined ? {} : { open: options.openApi }),
    });
    const openApi = (cluster: ClusterSpec) => this.#access.api(cluster);
    this.#joins = new Joins({
      events,
      now,
      secrets: this.secrets,
      tokens: this.#tokens,
      templates,
      inventory,
      readSecret,
      openApi,
      statusOf: (cluster) => this.#watch.statusOf(cluster),
      isNews,
    });
    this.#watch = new ClusterWatch({
      store,
      events,
      now,
      inventory,
      targets: () => this.#targets(),
      openApi,
      onJoined: (db, host) => this.#joins.finish(db, host),
      onUp: (cluster, api) => this.#tokens.sweep(store.db, api, cluster.name),
      onFault,
      ...(options.pace === undefined ? {} : { pace: options.pace }),
    });
  }

  start(): void {
    this.#watch.start();
  }

  async stop(): Promise<void> {
    await this.#watch.stop();
  }

  /** Secrets that can't be unsealed, in words: the keys folder is another one's. */
  async unreadable(): Promise<string[]> {
    const faults: string[] = [];
    for (const { name } of await listClusters(this.#options.store.db)) {
      await this.secrets.find(name).catch((error: unknown) => faults.push((error as Error).message));
    }
    return faults;
  }

  /** What a host does about kubeadm; throws with what it waits for. */
  answer(host: HostSpec, asker: JoinAsker): Promise<KubeadmAnswer> {
    return this.#joins.answer(host, asker);
  }

  /** A host has joined, as it reports: part of the report's transaction. */
  finishJoin(db: Db, host: string): Promise<void> {
    return this.#joins.finish(db, host);
  }

  /** What it would be given, with markers in place of secrets. Changes nothing. */
  async preview(host: HostSpec): Promise<string> {
    const { store, inventory, templates } = this.#options;
    const cluster = host.cluster === undefined ? undefined : this.specOf(host.cluster);
    const claim = cluster && (await findInitClaim(store.db, cluster.name));
    const certificate = cluster && (await this.secrets.find(cluster.name))?.ca.certificate;
    return previewKubeadm({
      host,
      cluster,
      claim,
      certificate,
      hosts: inventory().inventory.hosts,
      templates: templates.current().set,
    });
  }

  /** An administrator's kubeconfig, for a person; it is written down who got it. */
  async kubeconfig(name: string, { hours, address }: { hours: number; address: string }): Promise<string> {
    const { now, events } = this.#options;
    const cluster = this.specOf(name);
    const notAfter = new Date(now() + hours * HOUR);
    const { ca } = await this.secrets.ensure(name);
    const endpoint = await this.#endpoint(cluster);
    const text = await makeKubeconfig({
      cluster: name,
      endpoint,
      ca,
      user: 'railhead:admin',
      group: ADMINS,
      notAfter,
    });
    // Before it is given out: a kubeconfig that nobody knows of must not be.
    await events.append({
      kind: 'cluster.kubeconfig-issued',
      data: { cluster: name, address, expires: notAfter.toISOString() },
    });
    return text;
  }

  /** For the appliance's own work on a cluster. */
  async applianceKubeconfig(name: string, wanted: { seconds: number } = { seconds: 0 }): Promise<string> {
    return this.#access.kubeconfig(this.specOf(name), wanted);
  }

  /** The certificate of its CA, if it has secrets already. */
  async authorityOf(name: string): Promise<string | undefined> {
    return (await this.secrets.find(name))?.ca.certificate;
  }

  statusOf(name: string): ApiStatus {
    return this.#watch.statusOf(name);
  }

  /** Its nodes as they were seen last; worth something only while its API is up. */
  nodesOf(name: string): readonly ApiNode[] {
    return this.#watch.nodesOf(name);
  }

  async list(): Promise<ClusterDescription[]> {
    const { clusters } = this.#options.inventory().inventory;
    return Promise.all(clusters.map(({ name }) => this.describe(name)));
  }

  async describe(name: string): Promise<ClusterDescription> {
    const { store, inventory, now } = this.#options;
    return describeCluster({
      db: store.db,
      cluster: this.specOf(name),
      hosts: inventory().inventory.hosts,
      secrets: this.secrets,
      api: this.#watch.statusOf(name),
      now: now(),
    });
  }

  /** Lets another host begin. Refused while the API answers: there is nothing to begin then. */
  async reinit(name: string, { newSecrets }: { newSecrets: boolean }): Promise<void> {
    const { events, store, now } = this.#options;
    this.specOf(name);
    if (await this.#answers(this.specOf(name))) {
      throw new RailheadError('RH_CLUSTER_ALIVE', `The API of ${name} answers: the cluster is there.`, {
        hint: 'Switch its control plane off first, if it really is to go.',
      });
    }
    const previous = (await findInitClaim(store.db, name))?.host;
    const fresh = newSecrets ? await this.secrets.freshRow(name) : undefined;
    await events.transact(async (db) => {
      await forgetInit(db, name, now());
      if (fresh !== undefined) await replaceSecrets(db, fresh);
      const data = { cluster: name, newSecrets, ...(previous === undefined ? {} : { previous }) };
      return [{ kind: 'cluster.reinit', data }];
    });
    await this.#watch.look();
  }

  /** Every token that is out becomes worthless as soon as the API answers; hosts that ask again get new ones. */
  async rotateTokens(name: string): Promise<number> {
    const { events, now } = this.#options;
    this.specOf(name);
    let tokens = 0;
    await events.transact(async (db) => {
      tokens = (await tokensOf(db, name)).filter(({ used_at: usedAt }) => usedAt === null).length;
      await retireTokens(db, name, now());
      return [{ kind: 'cluster.tokens-rotated', data: { cluster: name, tokens } }];
    });
    if (this.#watch.statusOf(name).state === 'up') {
      const api = await this.#access.api(this.specOf(name));
      await this.#tokens.sweep(this.#options.store.db, api, name).catch(this.#options.onFault);
    }
    return tokens;
  }

  /** Asked now: what was seen last may be old, or nothing yet. */
  async #answers(cluster: ClusterSpec): Promise<boolean> {
    if ((await findInitClaim(this.#options.store.db, cluster.name)) === undefined) return false;
    return this.#access
      .api(cluster)
      .then((api) => api.listNodes())
      .then(
        () => true,
        () => false,
      );
  }

  specOf(name: string): ClusterSpec {
    const { clusters } = this.#options.inventory().inventory;
    const found = clusters.find((cluster) => cluster.name === name);
    if (found !== undefined) return found;
    const names = clusters.map((cluster) => cluster.name);
    throw new RailheadError(
      'RH_CLUSTER_UNKNOWN',
      `There is no cluster "${name}" in the inventory${didYouMean(name, names)}`,
      { hint: '`npx railhead cluster list` lists them all.' },
    );
  }

  async #endpoint(cluster: ClusterSpec): Promise<Endpoint> {
    const { store, inventory } = this.#options;
    const claim = await findInitClaim(store.db, cluster.name);
    const endpoint = endpointOf(cluster, inventory().inventory.hosts, claim);
    if (endpoint !== undefined) return endpoint;
    throw new RailheadError(
      'RH_CLUSTER_WAITS',
      `Nobody knows yet where the API of ${cluster.name} will be.`,
      {
        hint: 'Set `endpoint`, or `ip` of its control-plane host; else it is known when that host asks.',
      },
    );
  }

  /** Those that somebody has begun, here or before they came here. */
  async #targets(): Promise<WatchTarget[]> {
    const { store, inventory } = this.#options;
    const { clusters, hosts } = inventory().inventory;
    const claims = new Map((await listInitClaims(store.db)).map((claim) => [claim.cluster, claim]));
    const targets: WatchTarget[] = [];
    for (const cluster of clusters) {
      const claim = claims.get(cluster.name);
      const row = await findCluster(store.db, cluster.name);
      if (claim === undefined && (row?.api_seen_at ?? null) === null) continue;
      const endpoint = endpointOf(cluster, hosts, claim);
      if (endpoint !== undefined) targets.push({ cluster, endpoint: formatEndpoint(endpoint) });
    }
    return targets;
  }
}
