import { onTestFinished } from 'vitest';
import { Vault } from '../../server/access/vault.ts';
import type { ApiNode, ClusterApi, NodeChange } from '../../server/cluster/kubernetes-api.ts';
import type { Event } from '../../server/events/kinds.ts';
import { EventLog } from '../../server/events/log.ts';
import type { Inventory } from '../../server/inventory/model.ts';
import type { Store } from '../../server/store/store.ts';
import { TemplateFolders, templateFolders } from '../../server/templating/template-folders.ts';
import { ROOT } from '../support/appliance.ts';
import { ProvisionedClusters } from '../support/machines.ts';
import { until } from '../support/poll.ts';
import { indexOf } from './inventory.ts';

/** An API that says what it is told to. */
export class FakeApi implements ClusterApi {
  nodes: ApiNode[] = [];
  tokens = new Map<string, string>();
  isBound = true;
  /** What every call ends with. */
  fault: unknown;
  lists = 0;
  gitVersion = 'v1.36.4';
  #watch: { onChange: (change: NodeChange) => void; end: () => void } | undefined;

  async version() {
    this.#check();
    return this.gitVersion;
  }

  async listNodes() {
    this.lists++;
    this.#check();
    return { nodes: this.nodes, resourceVersion: '1' };
  }

  watchNodes(_version: string, onChange: (change: NodeChange) => void, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        this.#watch = undefined;
        resolve();
      };
      this.#watch = { onChange, end };
      if (signal.aborted) end();
      signal.addEventListener('abort', end);
    });
  }

  /** Tells whoever watches; waits until somebody does, for the API is `up` a moment before it is watched. */
  async tell(change: NodeChange): Promise<void> {
    (await until('somebody watches', () => this.#watch)).onChange(change);
  }

  /** Ends the watch, as a server does that goes away. */
  async endWatch(): Promise<void> {
    (await until('somebody watches', () => this.#watch)).end();
  }

  async createToken(secret: { stringData: { 'token-id': string; description: string } }) {
    this.#check();
    const id = secret.stringData['token-id'];
    if (this.tokens.has(id)) throw Object.assign(new Error('exists'), { code: 409 });
    this.tokens.set(id, secret.stringData.description);
  }

  async deleteToken(id: string) {
    this.#check();
    this.tokens.delete(id);
  }

  async hasAdminsBinding() {
    this.#check();
    return this.isBound;
  }

  #check(): void {
    if (this.fault !== undefined) throw this.fault;
  }
}

export function nodeNamed(name: string, ready: 'True' | 'False', more: Partial<ApiNode> = {}): ApiNode {
  return {
    name,
    createdAt: Date.now() + 1000,
    kubeletVersion: 'v1.36.4',
    isControlPlane: false,
    takesPods: true,
    ready: {
      status: ready,
      reason: ready === 'True' ? 'KubeletReady' : 'KubeletNotReady',
      message: ready === 'True' ? '' : 'container runtime network not ready: cni plugin not initialized',
      heartbeatAt: Date.now() + 1000,
    },
    ...more,
  };
}

export interface TestClusters {
  service: ProvisionedClusters;
  events: EventLog;
  api: FakeApi;
  heard: Event[];
  /** Kubeconfigs that the API was opened with. */
  opened: string[];
}

/** The real service on a store of its own, with an API that is a stand-in unless told otherwise. */
export function clustersOn(
  store: Store,
  inventory: Inventory,
  options: { now?: () => number; realApi?: boolean; key?: Buffer } = {},
): TestClusters {
  const now = options.now ?? Date.now;
  const events = new EventLog({ store, now, keepCount: 100_000, keepDays: 1 });
  const heard: Event[] = [];
  events.subscribe((event) => void heard.push(event));
  const api = new FakeApi();
  const opened: string[] = [];
  const index = indexOf(inventory);
  const service = new ProvisionedClusters({
    store,
    events,
    now,
    vault: new Vault(options.key ?? Buffer.alloc(32, 3)),
    inventory: () => index,
    templates: new TemplateFolders({ now: Date.now, folders: templateFolders(`${ROOT}/templates`) }),
    readSecret: () => 'found-secret',
    isNews: () => true,
    onFault: (error) => console.error(error),
    pace: { lookMs: 20, firstPauseMs: 5, longestPauseMs: 40, restMs: 5 },
    ...(options.realApi
      ? {}
      : {
          openApi: async (kubeconfig: string) => {
            opened.push(kubeconfig);
            return api;
          },
        }),
  });
  onTestFinished(async () => {
    await service.stop();
    await events.stop();
  });
  return { service, events, api, heard, opened };
}
