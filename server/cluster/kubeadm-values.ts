import type { ClusterSpec, HostSpec } from '../inventory/model.ts';
import type { Kubeadm } from '../inventory/schema.ts';
import { parseVersion } from '../inventory/versions.ts';
import { controlPlaneOf, DEFAULT_API_PORT, type Endpoint, formatEndpoint } from './endpoint.ts';

/** Where Railhead puts its own files on a host, below what kubeadm has. */
const OWN_FOLDER = '/etc/kubernetes/railhead';
const AUDIT_LOGS = '/var/log/kubernetes/audit';
const DEFAULT_KUBE_VIP = 'ghcr.io/kube-vip/kube-vip:v1.0.1';
const CONTROL_PLANE_TAINT = { key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' };
/** The first with v1beta4, in which flags may be given several times. */
const V1BETA4_MINOR = 31;

export interface ValuesInput {
  host: HostSpec;
  cluster: ClusterSpec;
  hosts: readonly HostSpec[];
  endpoint: Endpoint;
  caHash: string;
  secrets: { encryptionKey: string; bootstrapToken: string; bootstrapTokens: readonly InitToken[] };
  /** Those of the host, with their secrets read or hidden. */
  variables: unknown;
  /** It goes on from what an earlier try has left. */
  resume: boolean;
}

/** A token that `kubeadm init` makes known to the API. */
export interface InitToken {
  token: string;
  description: string;
  ttl: string;
  usages: string[];
  groups: string[];
}

export interface KubeadmFacts {
  isV1beta4: boolean;
  isControlPlane: boolean;
  encryptSecrets: boolean;
  audit: Kubeadm['audit'];
  patches: NonNullable<Kubeadm['patches']>;
  kubelet: Record<string, unknown>;
  hasKubeVip: boolean;
}

/** What decides which files there are. */
export function factsOf(host: HostSpec, cluster: ClusterSpec): KubeadmFacts {
  const { kubeadm } = cluster;
  const isControlPlane = host.role === 'control-plane';
  return {
    isV1beta4: parseVersion(cluster.kubernetes).minor >= V1BETA4_MINOR,
    isControlPlane,
    encryptSecrets: isControlPlane && kubeadm?.encryptSecrets !== false,
    audit: isControlPlane ? kubeadm?.audit : undefined,
    // A worker has nothing but its kubelet to patch.
    patches: (kubeadm?.patches ?? []).filter(
      ({ target }) => isControlPlane || target === 'kubeletconfiguration',
    ),
    kubelet: kubeadm?.kubelet ?? {},
    hasKubeVip: isControlPlane && cluster.kubeVip !== undefined,
  };
}

/** Everything that templates of kubeadm may name. Pure. */
export function kubeadmValues(input: ValuesInput): Record<string, unknown> {
  const { host, cluster, endpoint, secrets } = input;
  const facts = factsOf(host, cluster);
  const { isV1beta4, isControlPlane } = facts;
  const { kubeadm, kubeVip } = cluster;
  const skipKubeProxy = cluster.addons.some(({ name, enabled }) => name === 'cilium' && enabled !== false);
  const args = (own: Args, given: Args = {}) => argsOf({ ...own, ...given }, isV1beta4);
  // With kube-vip the API server itself listens where the endpoint says; before a load balancer it needn't.
  const bindPort = kubeVip === undefined ? DEFAULT_API_PORT : endpoint.port;
  return {
    apiVersion: isV1beta4 ? 'v1beta4' : 'v1beta3',
    isV1beta4,
    isControlPlane,
    host: { name: host.name, ip: host.ip ?? null, pool: host.pool, labels: host.labels },
    cluster: { name: cluster.name, kubernetes: cluster.kubernetes },
    variables: input.variables,
    kubernetesVersion: `v${cluster.kubernetes.replace(/^v/, '')}`,
    endpoint: formatEndpoint(endpoint),
    caHash: input.caHash,
    podCidr: cluster.podCidrs.join(','),
    serviceCidr: cluster.serviceCidrs.join(','),
    dnsDomain: kubeadm?.dnsDomain ?? 'cluster.local',
    imageRepository: kubeadm?.imageRepository ?? '',
    featureGates: kubeadm?.featureGates ?? {},
    sans: sansOf(input),
    skipKubeProxy,
    skipPhases: skipKubeProxy && !isV1beta4 ? ['addon/kube-proxy'] : [],
    args: {
      apiServer: args(apiServerArgs(cluster), kubeadm?.apiServerArgs),
      controllerManager: args({}, kubeadm?.controllerManagerArgs),
      scheduler: args({}, kubeadm?.schedulerArgs),
      etcd: args({}, kubeadm?.etcdArgs),
      kubelet: args(kubeletArgs(host), kubeadm?.kubeletArgs),
    },
    apiServerVolumes: volumesOf(cluster),
    localEndpoint: { ...(host.ip === undefined ? {} : { advertiseAddress: host.ip }), bindPort },
    taints: isControlPlane ? [CONTROL_PLANE_TAINT, ...host.taints] : host.taints,
    ignorePreflightErrors: input.resume ? ['all'] : [],
    hasPatches: facts.patches.length > 0,
    patchesFolder: `${OWN_FOLDER}/patches`,
    bootstrapToken: secrets.bootstrapToken,
    bootstrapTokens: secrets.bootstrapTokens,
    encryptionKey: secrets.encryptionKey,
    auditLevel: kubeadm?.audit?.level ?? 'Metadata',
    kubeVip: {
      image: kubeVip?.image ?? DEFAULT_KUBE_VIP,
      interface: kubeVip?.interface ?? '',
      address: endpoint.host,
      prefixLength: endpoint.host.includes(':') ? 128 : 32,
      port: endpoint.port,
      kubeconfig: '/etc/kubernetes/admin.conf',
    },
  };
}

type Args = Readonly<Record<string, string | readonly string[]>>;

/** Flags as kubeadm wants them: a list, or before v1beta4 a mapping. */
function argsOf(args: Args, isV1beta4: boolean): unknown {
  const all = Object.entries(args).flatMap(([name, value]) =>
    [value].flat().map((one) => ({ name, value: String(one) })),
  );
  return isV1beta4 ? all : Object.fromEntries(all.map(({ name, value }) => [name, value]));
}

/**
 * Every name that the API server is asked by. The endpoint is always among them, so no one can forget it; neither is
 * the address of a host that becomes another member of the control plane later.
 */
function sansOf({ cluster, hosts, endpoint }: ValuesInput): string[] {
  const members = controlPlaneOf(cluster, hosts);
  const own = members.flatMap(({ name, ip }) => (ip === undefined ? [name] : [name, ip]));
  return [...new Set([endpoint.host, ...own, ...(cluster.kubeadm?.sans ?? []), '127.0.0.1', 'localhost'])];
}

function apiServerArgs({ kubeadm }: ClusterSpec): Args {
  const oidc = kubeadm?.oidc;
  const audit = kubeadm?.audit;
  const given: Record<string, string | undefined> = {
    'encryption-provider-config':
      kubeadm?.encryptSecrets === false ? undefined : `${OWN_FOLDER}/encryption.yaml`,
    'oidc-issuer-url': oidc?.issuerUrl,
    'oidc-client-id': oidc?.clientId,
    'oidc-username-claim': oidc?.usernameClaim,
    'oidc-username-prefix': oidc?.usernamePrefix,
    'oidc-groups-claim': oidc?.groupsClaim,
    'oidc-groups-prefix': oidc?.groupsPrefix,
    ...(audit === undefined
      ? {}
      : {
          'audit-policy-file': `${OWN_FOLDER}/audit-policy.yaml`,
          'audit-log-path': `${AUDIT_LOGS}/audit.log`,
          'audit-log-maxage': String(audit.maxAgeDays ?? 30),
        }),
  };
  return Object.fromEntries(
    Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

function volumesOf({ kubeadm }: ClusterSpec): object[] {
  const own = kubeadm?.encryptSecrets !== false || kubeadm?.audit !== undefined;
  const mount = (name: string, path: string, readOnly: boolean) => ({
    name,
    hostPath: path,
    mountPath: path,
    readOnly,
    pathType: 'DirectoryOrCreate',
  });
  return [
    ...(own ? [mount('railhead', OWN_FOLDER, true)] : []),
    ...(kubeadm?.audit === undefined ? [] : [mount('audit-logs', AUDIT_LOGS, false)]),
  ];
}

function kubeletArgs({ ip, labels }: HostSpec): Args {
  const own = Object.entries(labels).filter(([name]) => mayLabelItself(name));
  return {
    ...(ip === undefined ? {} : { 'node-ip': ip }),
    ...(own.length === 0 ? {} : { 'node-labels': own.map(([name, value]) => `${name}=${value}`).join(',') }),
  };
}

/** A kubelet that would give itself another label of Kubernetes' own refuses to start. */
export function mayLabelItself(name: string): boolean {
  const prefix = name.includes('/') ? name.slice(0, name.indexOf('/')) : '';
  if (!/(^|\.)(kubernetes|k8s)\.io$/.test(prefix)) return true;
  if (/(^|\.)(node|kubelet)\.kubernetes\.io$/.test(prefix)) return true;
  return /^(kubernetes\.io\/(hostname|arch|os)|beta\.kubernetes\.io\/(arch|os|instance-type)|topology\.kubernetes\.io\/(zone|region))$/.test(
    name,
  );
}
