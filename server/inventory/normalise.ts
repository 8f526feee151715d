import { normaliseIp, parseCidr } from '../net/cidr.ts';
import type { Items } from './collect.ts';
import { normaliseMac } from './mac.ts';
import type { Cluster, Host } from './schema.ts';
import { normaliseUuid } from './uuid.ts';

/** Makes every spelling of one thing the same. What can't be such a thing at all, the schema has refused. */
export function normalise(items: Items): Items {
  return {
    ...items,
    clusters: items.clusters.map((item) => item.with(normaliseCluster(item.value))),
    hosts: items.hosts.map((item) => item.with(normaliseHost(item.value))),
  };
}

function normaliseCluster(given: Cluster): Cluster {
  const cluster = { ...given, kubernetes: withoutV(given.kubernetes) };
  if (cluster.containerd !== undefined) cluster.containerd = withoutV(cluster.containerd);
  if (cluster.addons !== undefined) {
    cluster.addons = cluster.addons.map((addon) =>
      addon.version === undefined ? addon : { ...addon, version: withoutV(addon.version) },
    );
  }
  for (const key of ['podCidr', 'serviceCidr'] as const) {
    const cidrs = cluster[key];
    if (cidrs !== undefined) cluster[key] = toList(cidrs).map(normaliseCidr);
  }
  return cluster;
}

function normaliseHost(given: Host): Host {
  const host = { ...given };
  if (host.macs !== undefined) host.macs = host.macs.map((mac) => normaliseMac(mac)!);
  if (host.uuid !== undefined) host.uuid = normaliseUuid(host.uuid)!;
  if (host.ip !== undefined) host.ip = normaliseIp(host.ip)!;
  return host;
}

/** `v1.36.4` and `1.36.4` are the same version; file names that need the `v` add it themselves. */
function withoutV(version: string): string {
  return version.replace(/^v/, '');
}

function normaliseCidr(text: string): string {
  const parsed = parseCidr(text);
  return 'cidr' in parsed ? parsed.cidr.text : text;
}

export function toList<T>(value: T | T[] | undefined): T[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}
