import { request } from 'node:https';
import type { KubeadmFiles } from '../../server/cluster/kubeadm-files.ts';
import { ControlPlane, ensureControlPlane, freePort, machineAddress } from './control-plane.ts';
import { readKubeconfigCredentials } from './kubeconfig-credentials.ts';
import { ensureKubernetesTools, type KubernetesTools } from './kubectl.ts';
import { until } from './poll.ts';

interface Workload {
  metadata: { name: string; namespace: string; generation: number };
  spec: { replicas?: number };
}

interface List<T> {
  items: T[];
}

/**
 * A real API without a controller or a kubelet behind it: the test plays both. Workloads become ready unless they are
 * named in `broken`.
 */
export class StandInCluster {
  readonly tools: KubernetesTools;
  readonly plane: ControlPlane;
  /** Workloads that never become ready; `gatewayclass`: no class is accepted. */
  readonly broken = new Set<string>();
  #playing = true;
  #loop: Promise<void> = Promise.resolve();

  private constructor(tools: KubernetesTools, plane: ControlPlane) {
    this.tools = tools;
    this.plane = plane;
  }

  /** `filesAt`: what kubeadm is given, for an API at this port. `undefined` after a line that says what is missing. */
  static async start(
    name: string,
    filesAt: (port: number) => KubeadmFiles | Promise<KubeadmFiles> = (port) => ({
      config: configOf(name, port),
      files: [],
    }),
  ): Promise<StandInCluster | undefined> {
    const tools = await ensureKubernetesTools();
    const programs = await ensureControlPlane();
    if (tools === undefined || programs === undefined) return undefined;
    const port = await freePort();
    const plane = await ControlPlane.start(programs, await filesAt(port), { port });
    const cluster = new StandInCluster(tools, plane);
    await until('there is a namespace kube-system', () => cluster.get('/api/v1/namespaces/kube-system'));
    cluster.#loop = cluster.#play();
    return cluster;
  }

  /** May do everything. */
  get kubeconfig(): string {
    return this.plane.superAdmin;
  }

  async stop(): Promise<void> {
    this.#playing = false;
    await this.#loop;
    await this.plane.stop();
  }

  get<T = unknown>(path: string): Promise<T> {
    return this.ask<T>('GET', path);
  }

  /** A node as a kubelet and kubeadm would make it. */
  async addNode(name: string, { controlPlane = false, ready = true } = {}): Promise<void> {
    await this.ask('POST', '/api/v1/nodes', {
      metadata: {
        name,
        ...(controlPlane ? { labels: { 'node-role.kubernetes.io/control-plane': '' } } : {}),
      },
      spec: controlPlane
        ? { taints: [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }] }
        : {},
    });
    await this.setReady(name, ready);
  }

  async setReady(name: string, ready: boolean): Promise<void> {
    const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False', reason: 'Played', message: '' }];
    await this.ask('PATCH', `/api/v1/nodes/${name}/status`, { status: { conditions } });
    // Added by admission until the node is ready; a controller would take it away.
    const node = await this.get<{ spec: { taints?: { key: string }[] } }>(`/api/v1/nodes/${name}`);
    const taints = (node.spec.taints ?? []).filter(({ key }) => key !== 'node.kubernetes.io/not-ready');
    if (ready) await this.ask('PATCH', `/api/v1/nodes/${name}`, { spec: { taints } });
  }

  ask<T = unknown>(method: string, path: string, body?: unknown): Promise<T> {
    const { ca, cert, key } = readKubeconfigCredentials(this.kubeconfig);
    return new Promise((resolve, reject) => {
      const asked = request(
        { host: machineAddress(), port: this.plane.port, path, method, ca, cert, key, timeout: 60_000 },
        (response) => {
          let text = '';
          response.setEncoding('utf8');
          response.on('data', (chunk: string) => {
            text += chunk;
          });
          response.on('end', () => {
            if ((response.statusCode ?? 500) < 300) resolve(JSON.parse(text) as T);
            else reject(new Error(`${method} ${path}: ${response.statusCode} ${text}`));
          });
        },
      );
      asked.on('error', reject);
      const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
      if (body !== undefined) asked.setHeader('content-type', type);
      asked.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  async #play(): Promise<void> {
    while (this.#playing) {
      await this.#playOnce().catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
  }

  async #playOnce(): Promise<void> {
    for (const kind of ['deployments', 'daemonsets', 'statefulsets']) {
      const { items } = await this.get<List<Workload>>(`/apis/apps/v1/${kind}`);
      for (const { metadata, spec } of items) {
        if (this.broken.has(metadata.name)) continue;
        const { name, namespace, generation } = metadata;
        const status = statusOf(kind, generation, spec.replicas ?? 1);
        await this.ask('PATCH', `/apis/apps/v1/namespaces/${namespace}/${kind}/${name}/status`, { status });
      }
    }
    const classes = await this.get<List<Workload>>('/apis/gateway.networking.k8s.io/v1/gatewayclasses').catch(
      () => ({ items: [] }),
    );
    for (const { metadata } of classes.items) {
      if (this.broken.has('gatewayclass')) continue;
      const path = `/apis/gateway.networking.k8s.io/v1/gatewayclasses/${metadata.name}/status`;
      const conditions = [{ type: 'Accepted', status: 'True', reason: 'Accepted' }];
      await this.ask('PATCH', path, { status: { conditions } });
    }
    const apps = await this.get<List<Workload>>('/apis/argoproj.io/v1alpha1/applications').catch(() => ({
      items: [],
    }));
    for (const { metadata } of apps.items) {
      const path = `/apis/argoproj.io/v1alpha1/namespaces/${metadata.namespace}/applications/${metadata.name}`;
      const status = { sync: { status: 'Synced' }, health: { status: 'Healthy' } };
      await this.ask('PATCH', path, { status });
    }
  }
}

function statusOf(kind: string, observedGeneration: number, replicas: number): object {
  if (kind === 'daemonsets') {
    const all = { desiredNumberScheduled: 1, currentNumberScheduled: 1, updatedNumberScheduled: 1 };
    return { observedGeneration, ...all, numberReady: 1, numberAvailable: 1, numberMisscheduled: 0 };
  }
  return {
    observedGeneration,
    replicas,
    updatedReplicas: replicas,
    readyReplicas: replicas,
    availableReplicas: replicas,
    ...(kind === 'statefulsets' ? { currentReplicas: replicas } : {}),
  };
}

function configOf(name: string, port: number): string {
  return `apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {advertiseAddress: ${machineAddress()}, bindPort: ${port}}
nodeRegistration: {name: n1, criSocket: "unix:///run/containerd/containerd.sock"}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
clusterName: ${name}
kubernetesVersion: v1.36.4
controlPlaneEndpoint: ${machineAddress()}:${port}
networking: {podSubnet: 10.244.0.0/16}
`;
}
