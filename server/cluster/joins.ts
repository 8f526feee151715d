import { RailheadError } from '../errors.ts';
import type { NewEvent } from '../events/kinds.ts';
import type { EventLog } from '../events/log.ts';
import { type SecretReader, withSecrets } from '../ignition/secrets.ts';
import type { InventoryIndex } from '../inventory/index.ts';
import type { ClusterSpec, HostSpec } from '../inventory/model.ts';
import { initialState } from '../machine/host-state.ts';
import { endWindow } from '../machine/windows.ts';
import {
  claimInit,
  countInitAnswer,
  endInit,
  endJoins,
  findCluster,
  findInitClaim,
  type InitClaimRow,
  insertJoin,
  markTokensUsed,
  openJoins,
  type TokenRow,
  updateJoin,
} from '../store/clusters.ts';
import { findHostRow, updateHostRow } from '../store/hosts.ts';
import { openWindow } from '../store/machines.ts';
import type { Db } from '../store/store.ts';
import type { TemplateFolders } from '../templating/template-folders.ts';
import { decideJoin, type JoinDecision } from './decide-join.ts';
import { endpointOf } from './endpoint.ts';
import { type KubeadmFiles, kubeadmFiles } from './kubeadm-files.ts';
import type { InitToken } from './kubeadm-values.ts';
import { type ClusterApi, explainApiFault } from './kubernetes-api.ts';
import { pinOf } from './pki.ts';
import type { SecretsStore } from './secrets-store.ts';
import type { Tokens } from './tokens.ts';
import type { ApiStatus } from './watch.ts';

/** How long a control-plane host may take before it is the next one's turn: images have to be pulled. */
const TURN_MS = 20 * 60_000;

export interface JoinsOptions {
  events: EventLog;
  now: () => number;
  secrets: SecretsStore;
  tokens: Tokens;
  templates: TemplateFolders;
  inventory: () => InventoryIndex;
  readSecret: SecretReader;
  openApi: (cluster: ClusterSpec) => Promise<ClusterApi>;
  statusOf: (cluster: string) => ApiStatus;
  isNews: (source: string, what: string) => boolean;
}

/** The machine that asks, and from where. */
export interface JoinAsker {
  machine: number;
  address: string;
}

/** What a host is told; `before` says what to do with what an earlier try has left. */
export type KubeadmAnswer =
  | { action: 'none' }
  | ({ action: 'init' | 'join'; before: 'nothing' | 'reset' | 'resume' } & KubeadmFiles);

type Told = Extract<JoinDecision, { action: 'init' | 'join' }>;

/** Tells hosts what to do about kubeadm. What is decided is committed before anybody hears of it. */
export class Joins {
  readonly #options: JoinsOptions;

  constructor(options: JoinsOptions) {
    this.#options = options;
  }

  /** Throws `RH_CLUSTER_WAITS` with what the host has to wait for. */
  async answer(host: HostSpec, asker: JoinAsker): Promise<KubeadmAnswer> {
    const { hosts, clusters } = this.#options.inventory().inventory;
    const cluster = clusters.find(({ name }) => name === host.cluster);
    if (cluster === undefined || !host.member) return { action: 'none' };
    // First of all: with secrets that are good for nothing, nobody may begin.
    const secrets = await this.#options.secrets.ensure(cluster.name);
    const committed = await this.#commit(cluster, host, hosts, asker);
    const { decision, claim, initTokens, joinToken } = committed;
    if (decision.action === 'none') return { action: 'none' };
    const endpoint = endpointOf(cluster, hosts, claim);
    if (endpoint === undefined)
      throw this.#wait(cluster.name, host, 'an address for its API: set `endpoint`');
    const files = kubeadmFiles(this.#options.templates.current().set, {
      action: decision.action,
      host,
      cluster,
      hosts,
      endpoint,
      caHash: pinOf(secrets.ca.certificate),
      pki: secrets,
      variables: withSecrets(host.variables, this.#options.readSecret, 'variables'),
      resume: decision.before === 'resume',
      secrets: {
        encryptionKey: secrets.encryptionKey,
        bootstrapToken: joinToken === undefined ? '' : await this.#publish(cluster, host, joinToken),
        bootstrapTokens: initTokens,
      },
    });
    return { action: decision.action, before: decision.before, ...files };
  }

  /** It has joined, as it says or as the API shows: its turn is over, its token is used. */
  async finish(db: Db, host: string): Promise<void> {
    const now = this.#options.now();
    await endInit(db, host, now);
    await endJoins(db, host, 'done', now);
    await markTokensUsed(db, host, now);
    await endWindow(db, host, 'joined', now);
  }

  async #commit(cluster: ClusterSpec, host: HostSpec, hosts: readonly HostSpec[], asker: JoinAsker) {
    const { address } = asker;
    const { events, tokens } = this.#options;
    const result: Committed = { decision: { action: 'none', why: '' }, initTokens: [] };
    let waitFor: string | undefined;
    // One transaction after another: two hosts that ask at once are answered in turn, and each sees what the other got.
    await events.transact(async (db) => {
      const decision = await this.#decide(db, cluster, host);
      if (decision.action === 'wait') {
        waitFor = decision.for;
        return [];
      }
      result.decision = decision;
      if (decision.action === 'none') return [];
      // Secrets reach only the identity that is being provisioned, and only until it has joined.
      const window = await openWindow(db, host.name);
      if (window?.machine !== asker.machine) {
        waitFor = `its provisioning window, which is closed: \`railhead reinstall ${host.name}\` opens one`;
        return [];
      }
      const news: NewEvent[] = [];
      if (decision.action === 'init') {
        const claim = await this.#claim(db, cluster, host, address);
        // Another process has let another host begin: only the database knows.
        if (claim.host !== host.name) {
          waitFor = `the API of ${cluster.name}, which ${claim.host} is setting up`;
          return [];
        }
        if (claim.answers === 0) {
          const data = { cluster: cluster.name, address };
          news.push({ kind: 'cluster.init-claimed', host: host.name, data });
        }
        await countInitAnswer(db, cluster.name, claim.answers + 1);
        result.initTokens = await tokens.forInit(db, cluster, host, hosts);
      } else {
        await this.#takeTurn(db, cluster, host);
        result.joinToken = await tokens.forJoin(db, cluster.name, host.name);
      }
      await this.#noteBootstrapping(db, host);
      result.claim = await findInitClaim(db, cluster.name);
      const { action, before } = decision;
      const data = { cluster: cluster.name, action, before };
      return [...news, { kind: 'cluster.kubeadm-answered', host: host.name, data }];
    });
    if (waitFor !== undefined) throw this.#wait(cluster.name, host, waitFor);
    return result;
  }

  async #decide(db: Db, cluster: ClusterSpec, host: HostSpec): Promise<JoinDecision> {
    const now = this.#options.now();
    const claim = await findInitClaim(db, cluster.name);
    const joins = await openJoins(db, cluster.name);
    const other = joins.find(
      (join) => join.role === 'control-plane' && join.host !== host.name && isUnderWay(join, now),
    );
    const own = joins.find((join) => join.host === host.name);
    const row = await findCluster(db, cluster.name);
    const { state, reason } = this.#options.statusOf(cluster.name);
    return decideJoin({
      host,
      joinedAt: (await findHostRow(db, host.name))?.joined_at ?? undefined,
      claim: claim && { host: claim.host, done: claim.done_at !== null, answers: claim.answers },
      api: { everSeen: typeof row?.api_seen_at === 'number', isUp: state === 'up', reason },
      ownJoin: own && { answers: own.answers },
      otherControlPlane: other && { host: other.host, until: other.expires_at },
    });
  }

  #claim(db: Db, cluster: ClusterSpec, host: HostSpec, address: string): Promise<InitClaimRow> {
    return claimInit(db, {
      cluster: cluster.name,
      host: host.name,
      address,
      claimed_at: this.#options.now(),
      answers: 0,
      done_at: null,
    });
  }

  /** Ends turns that are over, and begins or prolongs that of this host. */
  async #takeTurn(db: Db, cluster: ClusterSpec, host: HostSpec): Promise<void> {
    const now = this.#options.now();
    const joins = await openJoins(db, cluster.name);
    for (const { id, host: owner, expires_at: until } of joins) {
      if (owner !== host.name && !isUnderWay({ expires_at: until }, now))
        await updateJoin(db, id, { ended_at: now, outcome: 'too late' });
    }
    const own = joins.find((join) => join.host === host.name);
    const expires = now + TURN_MS;
    if (own !== undefined) {
      await updateJoin(db, own.id, { answers: own.answers + 1, expires_at: expires });
      return;
    }
    await insertJoin(db, {
      cluster: cluster.name,
      host: host.name,
      role: host.role,
      started_at: now,
      expires_at: expires,
      answers: 1,
      ended_at: null,
      outcome: null,
    });
  }

  async #noteBootstrapping(db: Db, host: HostSpec): Promise<void> {
    const now = this.#options.now();
    const row = await findHostRow(db, host.name);
    if (row?.state === 'bootstrapping') return;
    const changes = { state: 'bootstrapping', state_since: now, last_seen: now };
    await updateHostRow(db, host.name, changes, { state: initialState(host), now });
  }

  async #publish(cluster: ClusterSpec, host: HostSpec, row: TokenRow): Promise<string> {
    try {
      return await this.#options.tokens.publish(await this.#options.openApi(cluster), row);
    } catch (error) {
      if (error instanceof RailheadError) throw error;
      throw this.#wait(cluster.name, host, `the API of ${cluster.name}: ${explainApiFault(error)}`);
    }
  }

  #wait(cluster: string, host: HostSpec, reason: string): RailheadError {
    const { events, isNews } = this.#options;
    if (isNews(host.name, reason)) {
      const data = { cluster, reason };
      void events.append({ kind: 'cluster.waiting', host: host.name, data }).catch(() => {});
    }
    return new RailheadError('RH_CLUSTER_WAITS', `${host.name} waits for ${reason}.`, {
      details: { waitingFor: reason },
    });
  }
}

/** Its turn lasts. One that ends later than any turn can was begun while the clock was ahead. */
function isUnderWay({ expires_at: until }: { expires_at: number }, now: number): boolean {
  return until > now && until - now <= TURN_MS;
}

interface Committed {
  decision: Told | Extract<JoinDecision, { action: 'none' }>;
  claim?: InitClaimRow | undefined;
  initTokens: InitToken[];
  joinToken?: TokenRow;
}
