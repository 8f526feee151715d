import { didYouMean } from '../document/nearest.ts';
import { formatPlace, type Problem } from '../document/problem.ts';
import { isRecord } from '../document/shape.ts';
import type { Path } from '../document/yaml.ts';
import { contains, overlaps, parseCidr, parseIp } from '../net/cidr.ts';
import { type Collected, type Item, type Items, subjectOf } from './collect.ts';
import { memberNames } from './compose.ts';
import { toList } from './normalise.ts';
import type { Cluster } from './schema.ts';
import { uuidKey } from './uuid.ts';
import { containerdFault, kubernetesFault } from './versions.ts';

/** What no schema can see: whether the items fit each other. `items` are the collected ones, normalised. */
export function crossCheck(items: Items, { refused, incomplete }: Collected): Problem[] {
  return [
    ...duplicateNames(items),
    ...duplicateIdentities(items),
    ...(incomplete ? [] : unknownReferences(items, refused)),
    ...hostFaults(items),
    ...clusterFaults(items),
    ...poolFaults(items),
    ...plainSecrets(items),
  ];
}

function duplicateNames(items: Items): Problem[] {
  return Object.values(items).flatMap((list: Item[]) =>
    duplicates(list, (item) => [{ key: item.value.name, path: ['name'], what: `name "${item.value.name}"` }]),
  );
}

function duplicateIdentities({ hosts }: Items): Problem[] {
  return [
    ...duplicates(hosts, ({ value }) =>
      (value.macs ?? []).map((mac, index) => ({
        key: mac,
        path: ['macs', index],
        what: `MAC address ${mac}`,
      })),
    ),
    ...duplicates(hosts, ({ value: { uuid } }) =>
      uuid === undefined ? [] : [{ key: uuidKey(uuid), path: ['uuid'], what: `UUID ${uuid}` }],
    ),
    ...duplicates(hosts, ({ value: { serial } }) =>
      serial === undefined ? [] : [{ key: serial, path: ['serial'], what: `serial number ${serial}` }],
    ),
    ...duplicates(hosts, ({ value: { ip } }) => {
      const parsed = ip === undefined ? undefined : parseIp(ip);
      return parsed === undefined
        ? []
        : [{ key: `${parsed.version}/${parsed.value}`, path: ['ip'], what: `IP ${ip}` }];
    }),
  ];
}

/** Points at the later one of two items with the same key, and names the place of the first. */
function duplicates<T extends { name: string }>(
  items: readonly Item<T>[],
  keysOf: (item: Item<T>) => { key: string; path: Path; what: string }[],
): Problem[] {
  const seen = new Map<string, { item: Item<T>; path: Path }>();
  const problems: Problem[] = [];
  for (const item of items) {
    for (const { key, path, what } of keysOf(item)) {
      const first = seen.get(key);
      if (first === undefined) {
        seen.set(key, { item, path });
        continue;
      }
      const where = formatPlace(first.item.place(...first.path));
      const owner = first.item === item ? 'by this host itself' : `by ${first.item.subject}`;
      problems.push(item.error(path, `the ${what} is already used ${owner} at ${where}`));
    }
  }
  return problems;
}

function unknownReferences(items: Items, refused: Set<string>): Problem[] {
  const names = {
    cluster: new Set(items.clusters.map((item) => item.value.name)),
    profile: new Set(items.profiles.map((item) => item.value.name)),
    pool: new Set(items.pools.map((item) => item.value.name)),
  };
  const check = (item: Item, kind: keyof typeof names, name: string | undefined): Problem[] => {
    if (name === undefined || names[kind].has(name) || refused.has(subjectOf(kind, name))) return [];
    const known = [...names[kind]];
    const list =
      known.length === 0 ? `; there is no ${kind} at all` : `; known: ${known.slice(0, 10).join(', ')}`;
    return [item.error([kind], `unknown ${kind} "${name}"${didYouMean(name, known) || list}`)];
  };
  return [
    ...items.pools.flatMap((item) => [
      ...check(item, 'cluster', item.value.cluster),
      ...check(item, 'profile', item.value.profile),
    ]),
    ...items.hosts.flatMap((item) => check(item, 'pool', item.value.pool)),
  ];
}

function hostFaults(items: Items): Problem[] {
  const pools = byName(items.pools);
  const profiles = byName(items.profiles);
  const problems: Problem[] = [];
  for (const item of items.hosts) {
    const { macs, uuid, serial, disk, pool } = item.value;
    if (macs === undefined && uuid === undefined && serial === undefined) {
      problems.push(item.error([], 'nothing tells it from others: give it `macs`, `uuid` or `serial`'));
    }
    if (typeof disk === 'string' && /^\/dev\/(sd|hd|vd|nvme)/.test(disk)) {
      const better = 'use /dev/disk/by-id/…, /dev/disk/by-path/… or a selector';
      problems.push(item.warning(['disk'], `${disk} can name another disk at the next boot; ${better}`));
    }
    const profile = profiles.get(pools.get(pool)?.value.profile ?? '')?.value;
    if (profile?.install === 'disk' && disk === undefined) {
      problems.push(
        item.error(
          [],
          `its profile "${profile.name}" installs to disk, so it needs \`disk\`: nothing is guessed`,
        ),
      );
    }
  }
  return problems;
}

function clusterFaults(items: Items): Problem[] {
  const pools = byName(items.pools);
  const members = memberNames(items);
  return items.clusters.flatMap((item) => {
    const { name, kubernetes, containerd, endpoint } = item.value;
    const problems: Problem[] = [];
    const fault = kubernetesFault(kubernetes);
    if (fault !== undefined) problems.push(item.error(['kubernetes'], fault));
    const odd = containerd === undefined ? undefined : containerdFault(kubernetes, containerd);
    if (fault === undefined && odd !== undefined) problems.push(item.warning(['containerd'], odd));

    const hosts = items.hosts.filter((host) => pools.get(host.value.pool)?.value.cluster === name);
    problems.push(...cidrFaults(item, hosts));

    const controlPlane = hosts.filter(
      ({ value }) => members.has(value.name) && pools.get(value.pool)?.value.role === 'control-plane',
    ).length;
    if (controlPlane === 0) {
      problems.push(
        item.warning([], 'it has no control-plane host yet: give it a pool with `role: control-plane`'),
      );
    } else if (controlPlane % 2 === 0) {
      const why = `it bears no more failures than ${controlPlane - 1}`;
      problems.push(
        item.warning(
          [],
          `an even number of control-plane hosts (${controlPlane}): ${why}; use an odd number`,
        ),
      );
    }
    if (controlPlane > 1 && endpoint === undefined) {
      const what = 'a virtual address or a load balancer in front of them';
      problems.push(item.error([], `${controlPlane} control-plane hosts need an \`endpoint\`: ${what}`));
    }
    return problems;
  });
}

function cidrFaults(item: Item<Cluster>, hosts: Items['hosts']): Problem[] {
  const networks = (['podCidr', 'serviceCidr'] as const).flatMap((key) =>
    toList(item.value[key]).flatMap((text) => {
      const parsed = parseCidr(text);
      return 'cidr' in parsed ? [{ key, cidr: parsed.cidr }] : [];
    }),
  );
  const problems: Problem[] = [];
  networks.forEach((a, index) => {
    for (const b of networks.slice(index + 1)) {
      if (!overlaps(a.cidr, b.cidr)) continue;
      problems.push(
        item.error([b.key], `\`${b.key}\` ${b.cidr.text} overlaps with \`${a.key}\` ${a.cidr.text}`),
      );
    }
  });
  for (const host of hosts) {
    const { ip } = host.value;
    const inside = ip === undefined ? undefined : networks.find(({ cidr }) => contains(cidr, ip));
    if (inside === undefined) continue;
    const network = `\`${inside.key}\` ${inside.cidr.text} of ${item.subject}`;
    problems.push(host.error(['ip'], `its address ${ip} lies inside the ${network}`));
  }
  return problems;
}

function poolFaults(items: Items): Problem[] {
  return items.pools.flatMap((item) => {
    const { name, replicas, role, cluster } = item.value;
    const problems: Problem[] = [];
    const hosts = items.hosts.filter((host) => host.value.pool === name).length;
    if (replicas !== undefined && replicas > hosts) {
      problems.push(
        item.warning(['replicas'], `${replicas} replicas, but only ${hosts} hosts are in this pool`),
      );
    }
    if (role === 'control-plane' && cluster === undefined) {
      problems.push(item.error(['role'], 'a control-plane pool needs a `cluster`'));
    }
    return problems;
  });
}

/** Names that hold secrets. `passwordHash` and `sshPublicKey` don't match on purpose: they are meant to be read. */
const SECRET_NAME = /(password|passwd|passphrase|secret|token|private[_-]?key)$/i;

/** The inventory is stored and shown: a plain secret in it would be, too. */
function plainSecrets(items: Items): Problem[] {
  const lists: Item<{ name: string; variables?: Record<string, unknown> }>[] = Object.values(items).flat();
  return lists.flatMap((item) => {
    const walk = (value: unknown, path: Path): Problem[] => {
      const key = path.at(-1);
      if (
        typeof key === 'string' &&
        SECRET_NAME.test(key) &&
        (typeof value === 'string' || typeof value === 'number')
      ) {
        const instead = `write {fromFile: PATH} or {fromEnv: NAME}`;
        return [item.error(path, `"${key}" looks like a secret in plain text; ${instead}`)];
      }
      if (Array.isArray(value)) return value.flatMap((entry, index) => walk(entry, [...path, index]));
      if (isRecord(value))
        return Object.entries(value).flatMap(([name, entry]) => walk(entry, [...path, name]));
      return [];
    };
    return walk(item.value.variables, ['variables']);
  });
}

function byName<T extends { name: string }>(items: readonly Item<T>[]): Map<string, Item<T>> {
  return new Map(items.map((item) => [item.value.name, item]));
}
