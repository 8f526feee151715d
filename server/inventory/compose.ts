import type { Items } from './collect.ts';
import type { ClusterSpec, HostSpec, Inventory, PoolSpec, ProfileSpec } from './model.ts';
import { toList } from './normalise.ts';
import type { Cluster, Host, Pool, Profile, Rollout } from './schema.ts';

const DEFAULT_ROLLOUT: Required<Rollout> = {
  strategy: 'PreferInPlace',
  maxUnavailable: 1,
  maxFailures: 1,
  drainTimeoutSeconds: 600,
  allowDowntime: false,
  paused: false,
};

export const DEFAULT_POD_CIDR = '10.244.0.0/16';
export const DEFAULT_SERVICE_CIDR = '10.96.0.0/12';

/** Lays cluster, profile, pool and host over each other. The items must have passed the cross-checks. */
export function compose(items: Items): Inventory {
  const clusters = values(items.clusters);
  const profiles = values(items.profiles);
  const pools = values(items.pools);
  const clusterByName = new Map(clusters.map((cluster) => [cluster.name, cluster]));
  const profileByName = new Map(profiles.map((profile) => [profile.name, profile]));
  const poolByName = new Map(pools.map((pool) => [pool.name, pool]));
  const profileSpecs = new Map(profiles.map((profile) => [profile.name, profileSpec(profile)]));
  const members = memberNames(items);

  return {
    clusters: clusters.map(clusterSpec),
    profiles: [...profileSpecs.values()],
    pools: pools.map((pool) => poolSpec(pool, clusterByName.get(pool.cluster ?? ''))),
    hosts: values(items.hosts).map((host) => {
      const pool = poolByName.get(host.pool)!;
      const layers = {
        cluster: clusterByName.get(pool.cluster ?? ''),
        profile: profileByName.get(pool.profile)!,
        pool,
        host,
      };
      return hostSpec(layers, profileSpecs.get(pool.profile)!, members.has(host.name));
    }),
  };
}

/** The hosts that may be members of a cluster: the first `replicas` of each pool, in name order. */
export function memberNames({ pools, hosts }: Items): Set<string> {
  const byPool = Map.groupBy(hosts, (host) => host.value.pool);
  return new Set(
    pools.flatMap(({ value: { name, cluster, replicas } }) => {
      if (cluster === undefined) return [];
      const names = (byPool.get(name) ?? []).map((host) => host.value.name).sort(compareNames);
      return names.slice(0, replicas ?? names.length);
    }),
  );
}

/** n2 before n10, as people count. n1 and n01 are equal to the collator, but never to us: order must not be chance. */
export function compareNames(a: string, b: string): number {
  return collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}

const collator = new Intl.Collator('en', { numeric: true });

interface Layers {
  cluster: Cluster | undefined;
  profile: Profile;
  pool: Pool;
  host: Host;
}

function hostSpec(layers: Layers, profile: ProfileSpec, member: boolean): HostSpec {
  const { cluster, pool, host } = layers;
  const ordered = [cluster, layers.profile, pool, host];
  const { name: profileName, templates, ...os } = profile;
  return {
    name: host.name,
    pool: pool.name,
    profile: profileName,
    ...optional('cluster', cluster?.name),
    role: pool.role ?? 'worker',
    member,
    os,
    templates,
    ...optional('kubernetes', cluster?.kubernetes),
    ...optional('containerd', cluster?.containerd),
    macs: host.macs ?? [],
    ...optional('uuid', host.uuid),
    ...optional('serial', host.serial),
    ...optional('ip', host.ip),
    network: { ...pool.network, ...host.network },
    ...optional('disk', host.disk),
    identity: host.identity ?? pool.identity ?? 'kept',
    localBoot: host.localBoot ?? 'auto',
    ...optional('bmc', host.bmc),
    labels: pool.labels ?? {},
    taints: pool.taints ?? [],
    // Not by assignment: a variable may be called `__proto__`.
    variables: Object.fromEntries(ordered.flatMap((layer) => Object.entries(layer?.variables ?? {}))),
    sshKeys: [...new Set(ordered.flatMap((layer) => layer?.sshKeys ?? []))],
    kernelArguments: ordered.flatMap((layer) => layer?.kernelArguments ?? []),
    snippets: ordered.flatMap((layer) => layer?.snippets ?? []),
  };
}

function clusterSpec(cluster: Cluster): ClusterSpec {
  return {
    name: cluster.name,
    kubernetes: cluster.kubernetes,
    ...optional('containerd', cluster.containerd),
    ...optional('endpoint', cluster.endpoint),
    podCidrs: toList(cluster.podCidr ?? DEFAULT_POD_CIDR),
    serviceCidrs: toList(cluster.serviceCidr ?? DEFAULT_SERVICE_CIDR),
    ...optional('kubeVip', cluster.kubeVip),
    ...optional('kubeadm', cluster.kubeadm),
    addons: cluster.addons ?? [],
    ...optional('pipeline', cluster.pipeline),
    rollout: { ...DEFAULT_ROLLOUT, ...cluster.rollout },
  };
}

function profileSpec(profile: Profile): ProfileSpec {
  return {
    name: profile.name,
    os: profile.os,
    channel: profile.channel ?? 'stable',
    version: profile.version ?? 'current',
    arch: profile.arch ?? 'amd64',
    install: profile.install ?? 'ram',
    sysexts: profile.sysexts ?? 'sysupdate',
    templates: profile.templates ?? {},
  };
}

function poolSpec(pool: Pool, cluster: Cluster | undefined): PoolSpec {
  return {
    name: pool.name,
    profile: pool.profile,
    ...optional('cluster', pool.cluster),
    role: pool.role ?? 'worker',
    ...optional('replicas', pool.replicas),
    labels: pool.labels ?? {},
    taints: pool.taints ?? [],
    rollout: { ...DEFAULT_ROLLOUT, ...cluster?.rollout, ...pool.rollout },
    updatesDisabled: pool.updatesDisabled ?? false,
  };
}

/** Sorted by name, so that the order of files and lines makes no new revision. */
function values<T extends { name: string }>(items: readonly { value: T }[]): T[] {
  return items.map((item) => item.value).sort((a, b) => compareNames(a.name, b.name));
}

function optional<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]: V });
}
