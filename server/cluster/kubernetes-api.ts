import type { CoreV1Api, RbacAuthorizationV1Api, V1Node, VersionApi, Watch } from '@kubernetes/client-node';
import { systemCode } from '../errors.ts';
import { secretNameOf, type tokenSecret } from './bootstrap-token.ts';

/** A node, as far as anything here cares. */
export interface ApiNode {
  name: string;
  createdAt: number;
  kubeletVersion: string;
  /** It bears the label that kubeadm gives it when all else is done. */
  isControlPlane: boolean;
  /** Neither cordoned nor tainted: an ordinary pod may run there. */
  takesPods: boolean;
  ready: { status: string; reason: string; message: string; heartbeatAt: number };
}

export type NodeChange = { type: 'ADDED' | 'MODIFIED' | 'DELETED'; node: ApiNode };

/** What is asked of the API of a cluster; tests have others. */
export interface ClusterApi {
  /** Of the API server: `v1.36.4`. */
  version(): Promise<string>;
  listNodes(): Promise<{ nodes: ApiNode[]; resourceVersion: string }>;
  /** Tells of changes until the server ends it, it is silent for too long, or `signal` says so. */
  watchNodes(
    resourceVersion: string,
    onChange: (change: NodeChange) => void,
    signal: AbortSignal,
  ): Promise<void>;
  createToken(secret: ReturnType<typeof tokenSecret>): Promise<void>;
  /** One that isn't there is as good as deleted. */
  deleteToken(id: string): Promise<void>;
  /** Whether kubeadm has bound its group of administrators. */
  hasAdminsBinding(): Promise<boolean>;
}

const REQUEST_MS = 10_000;
const WATCH_SECONDS = 240;
const ADMINS_BINDING = 'kubeadm:cluster-admins';

/** Speaks with a cluster as the kubeconfig says. The client library is big: it is loaded when it is first needed. */
export async function openClusterApi(kubeconfig: string): Promise<ClusterApi> {
  const k8s = await import('@kubernetes/client-node');
  const config = new k8s.KubeConfig();
  config.loadFromString(kubeconfig);
  const settings = k8s.createConfiguration({
    baseServer: new k8s.ServerConfiguration(config.getCurrentCluster()!.server, {}),
    authMethods: { default: config },
    // The only way to give requests a time limit: a signal among their options is ignored.
    promiseMiddleware: [
      {
        pre: async (context) => {
          context.setSignal(AbortSignal.timeout(REQUEST_MS));
          return context;
        },
        post: async (response) => response,
      },
    ],
  });
  return new KubernetesApi({
    core: new k8s.CoreV1Api(settings),
    rbac: new k8s.RbacAuthorizationV1Api(settings),
    version: new k8s.VersionApi(settings),
    watch: new k8s.Watch(config),
  });
}

interface Clients {
  core: CoreV1Api;
  rbac: RbacAuthorizationV1Api;
  version: VersionApi;
  watch: Watch;
}

class KubernetesApi implements ClusterApi {
  readonly #core: CoreV1Api;
  readonly #rbac: RbacAuthorizationV1Api;
  readonly #version: VersionApi;
  readonly #watch: Watch;

  constructor({ core, rbac, version, watch }: Clients) {
    this.#core = core;
    this.#rbac = rbac;
    this.#version = version;
    this.#watch = watch;
  }

  async version(): Promise<string> {
    return (await this.#version.getCode()).gitVersion;
  }

  async listNodes(): Promise<{ nodes: ApiNode[]; resourceVersion: string }> {
    // From the API server's memory: this is asked all the time.
    const { items, metadata } = await this.#core.listNode({ resourceVersion: '0' });
    return { nodes: items.map(toNode), resourceVersion: metadata?.resourceVersion ?? '0' };
  }

  async watchNodes(
    resourceVersion: string,
    onChange: (change: NodeChange) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const query = { resourceVersion, timeoutSeconds: WATCH_SECONDS };
    await new Promise<void>((resolve) => {
      const opened = this.#watch.watch(
        '/api/v1/nodes',
        query,
        (type, object) => {
          // An ERROR says that this version is too old to go on from: the next list knows better.
          if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') {
            onChange({ type, node: toNode(object as V1Node) });
          } else if (type === 'ERROR') resolve();
        },
        // Whatever ended it: the next list tells whether the API is there.
        () => resolve(),
      );
      const stop = () => {
        void opened.then((controller) => controller.abort()).catch(() => {});
        resolve();
      };
      if (signal.aborted) stop();
      else signal.addEventListener('abort', stop, { once: true });
    });
  }

  async createToken(secret: ReturnType<typeof tokenSecret>): Promise<void> {
    await this.#core.createNamespacedSecret({ namespace: 'kube-system', body: secret });
  }

  async deleteToken(id: string): Promise<void> {
    try {
      await this.#core.deleteNamespacedSecret({ namespace: 'kube-system', name: secretNameOf(id) });
    } catch (error) {
      if (statusOf(error) !== 404) throw error;
    }
  }

  async hasAdminsBinding(): Promise<boolean> {
    try {
      await this.#rbac.readClusterRoleBinding({ name: ADMINS_BINDING });
      return true;
    } catch (error) {
      // Who is bound may see it: both answers say that it is not there.
      if (statusOf(error) === 403 || statusOf(error) === 404) return false;
      throw error;
    }
  }
}

/** The HTTP status of an answer that is no success; `undefined` when there was no answer. */
export function statusOf(error: unknown): number | undefined {
  // A time that is up has a number, too, which has nothing to do with HTTP.
  if (error instanceof DOMException) return undefined;
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'number' ? code : undefined;
}

/** Why the API can't be asked, in words; never with what was sent. */
export function explainApiFault(error: unknown): string {
  const status = statusOf(error);
  if (status !== undefined) return status === 403 ? 'it refuses us (403)' : `it answers with ${status}`;
  const cause = (error as { cause?: unknown } | null)?.cause;
  const code = systemCode(cause) ?? systemCode(error) ?? '';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return 'its certificate is not good for this endpoint: `endpoint` of the inventory is not among the names it was made for';
  }
  if (/CERT|SELF_SIGNED|UNABLE_TO|ERR_TLS/.test(code)) {
    return `what answers there is not this cluster: its certificate is not signed by our CA (${code})`;
  }
  if (code !== '') return `no answer (${code})`;
  const name = (error as { name?: unknown } | null)?.name;
  return name === 'TimeoutError' ? `no answer within ${REQUEST_MS / 1000} s` : 'no answer';
}

/** A node as the API tells of it. Pure. */
export function toNode({ metadata, spec, status }: V1Node): ApiNode {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return {
    name: metadata?.name ?? '',
    createdAt: timeOf(metadata?.creationTimestamp),
    kubeletVersion: status?.nodeInfo?.kubeletVersion ?? '',
    isControlPlane: metadata?.labels?.['node-role.kubernetes.io/control-plane'] !== undefined,
    takesPods:
      spec?.unschedulable !== true &&
      !(spec?.taints ?? []).some(({ effect }) => effect === 'NoSchedule' || effect === 'NoExecute'),
    ready: {
      status: ready?.status ?? 'Unknown',
      reason: ready?.reason ?? 'NoReport',
      message: (ready?.message ?? 'the kubelet has not reported yet').slice(0, 300),
      heartbeatAt: timeOf(ready?.lastHeartbeatTime),
    },
  };
}

/** What a watch brings is JSON as it came: its times are text there. */
function timeOf(value: Date | string | undefined): number {
  return value === undefined ? 0 : new Date(value).getTime() || 0;
}
