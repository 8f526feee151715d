import type { Problem } from '../document/problem.ts';
import { parseCidr, parseIp } from '../net/cidr.ts';
import type { Item, Items } from './collect.ts';
import { macFault, normaliseMac } from './mac.ts';
import type { Cluster, Host } from './schema.ts';
import { normaliseUuid } from './uuid.ts';

/** Makes every spelling of one thing the same, and says what can't be such a thing at all. */
export function normalise(items: Items): { items: Items; problems: Problem[] } {
  const problems: Problem[] = [];
  return {
    items: {
      ...items,
      clusters: items.clusters.map((item) => normaliseCluster(item, problems)),
      hosts: items.hosts.map((item) => normaliseHost(item, problems)),
    },
    problems,
  };
}

function normaliseCluster(item: Item<Cluster>, problems: Problem[]): Item<Cluster> {
  const cluster = { ...item.value, kubernetes: withoutV(item.value.kubernetes) };
  if (cluster.containerd !== undefined) cluster.containerd = withoutV(cluster.containerd);
  if (cluster.addons !== undefined) {
    cluster.addons = cluster.addons.map((addon) =>
      addon.version === undefined ? addon : { ...addon, version: withoutV(addon.version) },
    );
  }
  for (const key of ['podCidr', 'serviceCidr'] as const) {
    const cidrs = toList(cluster[key]);
    cidrs.forEach((text, index) => {
      const parsed = parseCidr(text);
      const path = Array.isArray(cluster[key]) ? [key, index] : [key];
      if ('fault' in parsed) problems.push(item.error(path, `\`${key}\`: ${parsed.fault}, got "${text}"`));
    });
    const versions = cidrs.map((text) => (text.includes(':') ? 6 : 4));
    if (versions.length === 2 && versions[0] === versions[1]) {
      problems.push(item.error([key], `\`${key}\`: two networks must be one IPv4 and one IPv6`));
    }
  }
  return item.with(cluster);
}

function normaliseHost(item: Item<Host>, problems: Problem[]): Item<Host> {
  const host = { ...item.value };
  if (host.macs !== undefined) {
    host.macs = host.macs.map((text, index) => {
      const mac = normaliseMac(text);
      const fault = mac === undefined ? undefined : macFault(mac);
      if (mac === undefined) {
        const wanted = 'expected a MAC address such as 52:54:00:12:34:01';
        problems.push(item.error(['macs', index], `\`macs[${index}]\`: ${wanted}, got "${text}"`));
      } else if (fault !== undefined) {
        problems.push(item.error(['macs', index], `\`macs[${index}]\`: ${text} ${fault}; no card has it`));
      }
      return mac ?? text;
    });
  }
  if (host.uuid !== undefined) {
    const uuid = normaliseUuid(host.uuid);
    if (uuid === undefined) {
      problems.push(
        item.error(['uuid'], `\`uuid\`: expected a UUID such as 4c4c4544-0042-3510-8052-b4c04f384332`),
      );
    } else {
      host.uuid = uuid;
    }
  }
  if (host.ip !== undefined) {
    if (parseIp(host.ip) === undefined) {
      const hint = host.ip.includes('/') ? ' (without a prefix length)' : '';
      problems.push(
        item.error(['ip'], `\`ip\`: expected an IP address such as 10.0.0.11${hint}, got "${host.ip}"`),
      );
    } else {
      host.ip = host.ip.toLowerCase();
    }
  }
  return item.with(host);
}

/** `v1.36.4` and `1.36.4` are the same version; file names that need the `v` add it themselves. */
function withoutV(version: string): string {
  return version.replace(/^v/, '');
}

export function toList<T>(value: T | T[] | undefined): T[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}
