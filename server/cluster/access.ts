import type { ClusterSpec } from '../inventory/model.ts';
import type { Endpoint } from './endpoint.ts';
import { ADMINS, MASTERS, makeKubeconfig } from './kubeconfig.ts';
import { type ClusterApi, openClusterApi } from './kubernetes-api.ts';
import type { SecretsStore } from './secrets-store.ts';

const MINUTE = 60_000;
/** How long what the appliance shows the API is good for; a new one is made in time. */
const OWN_MINUTES = 15;
const RENEW_BEFORE_MS = 5 * MINUTE;

export interface AccessOptions {
  now: () => number;
  secrets: SecretsStore;
  endpointOf: (cluster: ClusterSpec) => Promise<Endpoint>;
  open?: (kubeconfig: string) => Promise<ClusterApi>;
}

type Group = typeof ADMINS | typeof MASTERS;

interface Opened {
  api: ClusterApi;
  key: string;
  until: number;
}

/**
 * How the appliance itself gets at the API of a cluster. It is one of kubeadm's administrators, like those that people
 * are; until kubeadm has given that group its rights, a member of system:masters, for minutes.
 */
export class ClusterAccess {
  readonly #options: AccessOptions;
  readonly #opened = new Map<string, Opened>();
  /** Clusters whose group of administrators was seen to have its rights; by the CA, which a new beginning changes. */
  readonly #bound = new Set<string>();

  constructor(options: AccessOptions) {
    this.#options = options;
  }

  /** Good for at least so long. */
  async kubeconfig(cluster: ClusterSpec, { seconds }: { seconds: number }): Promise<string> {
    const group = await this.#group(cluster);
    return this.#make(cluster, group, Math.max(OWN_MINUTES * MINUTE, seconds * 1000 + MINUTE));
  }

  /** A connection with the rights that there are. */
  async api(cluster: ClusterSpec): Promise<ClusterApi> {
    return this.#api(cluster, await this.#group(cluster));
  }

  /** Found out by asking: who is bound may see the binding. */
  async #group(cluster: ClusterSpec): Promise<Group> {
    const { ca } = await this.#options.secrets.ensure(cluster.name);
    if (this.#bound.has(ca.certificate)) return ADMINS;
    const api = await this.#api(cluster, ADMINS);
    // No answer is no reason to ask for more rights than may be needed.
    const isBound = await api.hasAdminsBinding().catch(() => undefined);
    if (isBound) this.#bound.add(ca.certificate);
    return isBound === false ? MASTERS : ADMINS;
  }

  async #api(cluster: ClusterSpec, group: Group): Promise<ClusterApi> {
    const now = this.#options.now();
    const endpoint = await this.#options.endpointOf(cluster);
    const { ca } = await this.#options.secrets.ensure(cluster.name);
    const id = `${cluster.name} ${group}`;
    const key = JSON.stringify([endpoint, ca.certificate]);
    const known = this.#opened.get(id);
    if (known !== undefined && known.key === key && known.until - RENEW_BEFORE_MS > now) return known.api;
    const kubeconfig = await this.#make(cluster, group, OWN_MINUTES * MINUTE);
    const api = await (this.#options.open ?? openClusterApi)(kubeconfig);
    this.#opened.set(id, { api, key, until: now + OWN_MINUTES * MINUTE });
    return api;
  }

  async #make(cluster: ClusterSpec, group: Group, milliseconds: number): Promise<string> {
    const { now, secrets, endpointOf } = this.#options;
    return makeKubeconfig({
      cluster: cluster.name,
      endpoint: await endpointOf(cluster),
      ca: (await secrets.ensure(cluster.name)).ca,
      user: 'railhead',
      group,
      notAfter: new Date(now() + milliseconds),
    });
  }
}
