import { setTimeout as sleep } from 'node:timers/promises';
import type { EventLog } from '../events/log.ts';
import type { InventoryIndex } from '../inventory/index.ts';
import type { ClusterSpec } from '../inventory/model.ts';
import { initialState } from '../machine/host-state.ts';
import { deleteNode, findCluster, nodesOf, noteApiSeen, openJoins, saveNode } from '../store/clusters.ts';
import { listHostRows, updateHostRow } from '../store/hosts.ts';
import type { Db, Store } from '../store/store.ts';
import { type ApiNode, type ClusterApi, explainApiFault, type NodeChange } from './kubernetes-api.ts';
import { compareNodes, judgeHost } from './observe-nodes.ts';

/** What is known about the API of a cluster now. `unknown` is never "gone". */
export interface ApiStatus {
  state: 'not-begun' | 'unknown' | 'up';
  since: number;
  /** Why it is unknown. */
  reason: string;
  /** Of its API server, as it said last; `undefined` as long as it has said nothing. */
  version?: string | undefined;
}

/** A cluster that somebody has begun, and where its API is or will be. */
export interface WatchTarget {
  cluster: ClusterSpec;
  endpoint: string;
}

export interface ClusterWatchOptions {
  store: Store;
  events: EventLog;
  now: () => number;
  inventory: () => InventoryIndex;
  targets: () => Promise<WatchTarget[]>;
  openApi: (cluster: ClusterSpec) => Promise<ClusterApi>;
  /** A host has joined, as the API shows. */
  onJoined: (db: Db, host: string) => Promise<void>;
  /** The API answers: what waits for that can be done now. */
  onUp: (cluster: ClusterSpec, api: ClusterApi) => Promise<void>;
  onFault: (error: unknown) => void;
  /** For tests. */
  pace?: Partial<Pace>;
}

interface Pace {
  /** How often it looks for clusters that are new. */
  lookMs: number;
  /** The first pause after a failure, and the longest. */
  firstPauseMs: number;
  longestPauseMs: number;
  /** Between a watch that ended and the next list. */
  restMs: number;
}

const PACE: Pace = { lookMs: 5_000, firstPauseMs: 1_000, longestPauseMs: 30_000, restMs: 2_000 };

interface Runner {
  target: WatchTarget;
  stop: AbortController;
  ended: Promise<void>;
}

/** Sees clusters come up: asks each API for its nodes and listens for changes, as gently as it can. */
export class ClusterWatch {
  readonly #options: ClusterWatchOptions;
  readonly #pace: Pace;
  readonly #runners = new Map<string, Runner>();
  readonly #status = new Map<string, ApiStatus>();
  /** As they were seen last. */
  readonly #nodes = new Map<string, readonly ApiNode[]>();
  #timer: NodeJS.Timeout | undefined;
  #isRunning = false;
  #looking: Promise<void> = Promise.resolve();

  constructor(options: ClusterWatchOptions) {
    this.#options = options;
    this.#pace = { ...PACE, ...options.pace };
  }

  start(): void {
    this.#isRunning = true;
    const look = () => {
      this.#looking = this.look().catch(this.#options.onFault);
    };
    this.#timer = setInterval(look, this.#pace.lookMs);
    this.#timer.unref();
    look();
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    clearInterval(this.#timer);
    await this.#looking;
    const runners = [...this.#runners.values()];
    for (const { stop } of runners) stop.abort();
    await Promise.all(runners.map(({ ended }) => ended));
  }

  statusOf(cluster: string): ApiStatus {
    return this.#status.get(cluster) ?? { state: 'not-begun', since: 0, reason: 'nobody has begun it yet' };
  }

  /** Its nodes, as they were seen last: only worth something while it is up. */
  nodesOf(cluster: string): readonly ApiNode[] {
    return this.#nodes.get(cluster) ?? [];
  }

  /** Begins to watch what is new, ends what is no longer there or has moved. */
  async look(): Promise<void> {
    const targets = await this.#options.targets();
    if (!this.#isRunning) return;
    const wanted = new Map(targets.map((target) => [target.cluster.name, target]));
    for (const [name, runner] of this.#runners) {
      if (wanted.get(name)?.endpoint === runner.target.endpoint) continue;
      runner.stop.abort();
      this.#runners.delete(name);
      this.#status.delete(name);
      this.#nodes.delete(name);
    }
    for (const target of targets) {
      const { name } = target.cluster;
      if (this.#runners.has(name)) continue;
      const stop = new AbortController();
      this.#status.set(name, { state: 'unknown', since: this.#options.now(), reason: 'not asked yet' });
      this.#runners.set(name, { target, stop, ended: this.#run(target, stop.signal) });
    }
  }

  async #run(target: WatchTarget, signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      try {
        await this.#once(target, signal);
        failures = 0;
      } catch (error) {
        failures++;
        if (signal.aborted) return;
        await this.#noteUnknown(target, explainApiFault(error)).catch(this.#options.onFault);
      }
      const { firstPauseMs, longestPauseMs, restMs } = this.#pace;
      const pause = failures === 0 ? restMs : Math.min(longestPauseMs, firstPauseMs * 2 ** (failures - 1));
      // Not all at the same moment, where there are many.
      await sleep(pause * (0.8 + Math.random() * 0.4), undefined, { signal, ref: false }).catch(() => {});
    }
  }

  async #once(target: WatchTarget, signal: AbortSignal): Promise<void> {
    const { cluster } = target;
    const api = await this.#options.openApi(cluster);
    const [{ nodes, resourceVersion }, version] = await Promise.all([api.listNodes(), api.version()]);
    if (signal.aborted) return;
    const byName = new Map(nodes.map((node) => [node.name, node]));
    this.#nodes.set(cluster.name, nodes);
    await this.#noteUp(target, version);
    await this.#observe(cluster.name, nodes);
    await this.#options.onUp(cluster, api).catch(this.#options.onFault);
    // Changes that come while one is being written down are taken together.
    let tail = Promise.resolve();
    let isDue = false;
    const onChange = (change: NodeChange) => {
      if (change.type === 'DELETED') byName.delete(change.node.name);
      else byName.set(change.node.name, change.node);
      this.#nodes.set(cluster.name, [...byName.values()]);
      if (isDue) return;
      isDue = true;
      tail = tail
        .then(() => {
          isDue = false;
          return this.#observe(cluster.name, [...byName.values()]);
        })
        .catch(this.#options.onFault);
    };
    if (!signal.aborted) await api.watchNodes(resourceVersion, onChange, signal);
    await tail;
  }

  async #noteUp({ cluster, endpoint }: WatchTarget, version: string): Promise<void> {
    const before = this.#status.get(cluster.name);
    if (before?.state === 'up') {
      this.#status.set(cluster.name, { ...before, version });
      return;
    }
    const now = this.#options.now();
    await this.#options.events.transact(async (db) => {
      const first = await noteApiSeen(db, cluster.name, now);
      return [{ kind: 'cluster.api-up', data: { cluster: cluster.name, endpoint, first } }];
    });
    this.#status.set(cluster.name, { state: 'up', since: now, reason: '', version });
  }

  async #noteUnknown({ cluster, endpoint }: WatchTarget, reason: string): Promise<void> {
    const before = this.#status.get(cluster.name);
    const now = this.#options.now();
    const since = before?.state === 'unknown' ? before.since : now;
    this.#status.set(cluster.name, { state: 'unknown', since, reason, version: before?.version });
    // Before it was ever up this is no news: it is being built.
    const { store, events } = this.#options;
    const everSeen = (await findCluster(store.db, cluster.name))?.api_seen_at ?? null;
    if (before?.state !== 'up' || everSeen === null) return;
    await events.append({ kind: 'cluster.api-unknown', data: { cluster: cluster.name, endpoint, reason } });
  }

  async #observe(cluster: string, nodes: readonly ApiNode[]): Promise<void> {
    const { store, events, now: clock, inventory, onJoined } = this.#options;
    const hostOf = (name: string) => {
      const host = inventory().host(name);
      return host?.cluster === cluster ? host : undefined;
    };
    const now = clock();
    const known = await nodesOf(store.db, cluster);
    const hasHost = (name: string) => hostOf(name) !== undefined;
    const { changed, gone, events: news } = compareNodes(cluster, known, nodes, hasHost, now);
    const rows = new Map((await listHostRows(store.db)).map((row) => [row.name, row]));
    const joins = new Map(
      (await openJoins(store.db, cluster)).map(({ host, started_at: since }) => [host, since]),
    );
    const verdicts = nodes.flatMap((node) => {
      const host = hostOf(node.name);
      if (host === undefined) return [];
      const isControlPlane = host.role === 'control-plane';
      const facts = { row: rows.get(host.name), joiningSince: joins.get(host.name), isControlPlane };
      const verdict = judgeHost(node, facts);
      return verdict.hasJoined || verdict.isReady || verdict.isDown ? [{ host, ...verdict }] : [];
    });
    for (const { name } of gone) {
      const host = hostOf(name);
      if (host === undefined || rows.get(name)?.state !== 'ready') continue;
      verdicts.push({ host, hasJoined: false, isReady: false, isDown: true });
    }
    if (changed.length + gone.length + verdicts.length === 0) return;
    await events.transact(async (db) => {
      for (const row of changed) await saveNode(db, row);
      for (const { id } of gone) await deleteNode(db, id);
      for (const { host, hasJoined, isReady } of verdicts) {
        if (hasJoined) await onJoined(db, host.name);
        const changes = {
          ...(hasJoined ? { joined_at: now } : {}),
          ...(isReady ? { state: 'ready', ever_ready: 1 } : { state: 'joined' }),
          state_since: now,
        };
        await updateHostRow(db, host.name, changes, { state: initialState(host), now });
      }
      return news;
    });
  }
}
