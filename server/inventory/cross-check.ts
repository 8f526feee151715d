import { didYouMean } from '../document/nearest.ts';
import { formatPlace, isError, type Problem, quote } from '../document/problem.ts';
import type { Path } from '../document/yaml.ts';
import { contains, overlaps, parseCidr, parseIp } from '../net/cidr.ts';
import type { Collected, Item, Items } from './collect.ts';
import { DEFAULT_POD_CIDR, DEFAULT_SERVICE_CIDR, memberNames } from './compose.ts';
import { freeValueFaults } from './free-values.ts';
import { isJunkSerial, isJunkUuid } from './junk-identity.ts';
import { kubeadmFaults } from './kubeadm-check.ts';
import { toList } from './normalise.ts';
import { pipelineFaults } from './pipeline-faults.ts';
import type { Cluster, Host, Pool, Profile } from './schema.ts';
import { uuidKey } from './uuid.ts';
import { containerdFault, kubernetesFault } from './versions.ts';

/** What no schema can see: whether the items fit each other. `items` are the collected ones, normalised. */
export function crossCheck(items: Items, { refused, incomplete, problems }: Collected): Problem[] {
  const misfits = [...duplicateNames(items), ...(incomplete ? [] : unknownReferences(items, refused))];
  const whole = [...controlPlaneFaults(items), ...poolFaults(items)];
  // With items missing or astray, advice about the whole (no control plane yet, few hosts) would mislead.
  const isWhole = problems.length === 0 && misfits.length === 0;
  const found = [
    ...misfits,
    ...duplicateIdentities(items),
    ...hostFaults(items),
    ...clusterFaults(items),
    ...kubeadmFaults(items),
    ...(isWhole ? whole : whole.filter(isError)),
    ...freeValueFaults(items),
  ];
  // Advice for later: errors come first.
  return isWhole && !found.some(isError)
    ? [...found, ...forgetfulHosts(items), ...hostsWithoutMacs(items)]
    : found;
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
      uuid === undefined || isJunkUuid(uuid)
        ? []
        : [{ key: uuidKey(uuid), path: ['uuid'], what: `UUID ${uuid}`, variant: uuid, weak: true }],
    ),
    ...duplicates(hosts, ({ value: { serial } }) =>
      serial === undefined || isJunkSerial(serial)
        ? []
        : [{ key: serial, path: ['serial'], what: `serial number ${serial}`, weak: true }],
    ),
    ...hosts.flatMap(junkIdentities),
    ...duplicates(hosts, ({ value: { ip } }) => {
      const parsed = ip === undefined ? undefined : parseIp(ip);
      return parsed === undefined
        ? []
        : [{ key: `${parsed.version}/${parsed.value}`, path: ['ip'], what: `IP ${ip}` }];
    }),
  ];
}

/** Values that thousands of machines share. They do no harm: the MAC decides then. */
function junkIdentities(item: Item<Host>): Problem[] {
  const { uuid, serial } = item.value;
  const why = 'is what firmware says when nobody filled it in: it tells no machine from another';
  return [
    ...(uuid !== undefined && isJunkUuid(uuid) ? [item.warning(['uuid'], `the UUID ${uuid} ${why}`)] : []),
    ...(serial !== undefined && isJunkSerial(serial)
      ? [item.warning(['serial'], `the serial number ${quote(serial)} ${why}`)]
      : []),
  ];
}

interface Key {
  key: string;
  path: Path;
  what: string;
  variant?: string;
  /** Boards do share it: no fault of the inventory's, as long as each of their hosts has a MAC. */
  weak?: true;
}

/** Points at the later one of two items with the same key, and names the place of the first. */
function duplicates<T extends { name: string; macs?: string[] }>(
  items: readonly Item<T>[],
  keysOf: (item: Item<T>) => Key[],
): Problem[] {
  const seen = new Map<string, { item: Item<T>; path: Path; variant: string | undefined }>();
  const problems: Problem[] = [];
  for (const item of items) {
    for (const { key, path, what, variant, weak } of keysOf(item)) {
      const first = seen.get(key);
      if (first === undefined) {
        seen.set(key, { item, path, variant });
        continue;
      }
      const where = formatPlace(first.item.place(...first.path));
      const owner = first.item === item ? 'by this host itself' : `by ${first.item.subject}`;
      const how = first.variant === variant ? '' : ` (in the other byte order: ${first.variant})`;
      const message = `the ${what} is already used ${owner} at ${where}${how}`;
      const hasMacs = [item, first.item].every(({ value }) => (value.macs ?? []).length > 0);
      problems.push(
        weak && hasMacs
          ? item.warning(path, `${message}; it tells neither from the other, their MACs do`)
          : item.error(path, message),
      );
    }
  }
  return problems;
}

function unknownReferences(items: Items, refused: Collected['refused']): Problem[] {
  const names = {
    cluster: new Set(items.clusters.map((item) => item.value.name)),
    profile: new Set(items.profiles.map((item) => item.value.name)),
    pool: new Set(items.pools.map((item) => item.value.name)),
  };
  const check = (item: Item, kind: keyof typeof names, name: string | undefined): Problem[] => {
    if (name === undefined || names[kind].has(name) || refused[kind].has(name)) return [];
    const known = [...names[kind], ...refused[kind]];
    const list =
      known.length === 0 ? `; there is no ${kind} at all` : `; known: ${known.slice(0, 10).join(', ')}`;
    return [item.error([kind], `unknown ${kind} ${quote(name)}${didYouMean(name, known) || list}`)];
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
    const hasUuid = uuid !== undefined && !isJunkUuid(uuid);
    const hasSerial = serial !== undefined && !isJunkSerial(serial);
    if (macs === undefined && !hasUuid && !hasSerial) {
      problems.push(item.error([], 'nothing tells it from others: give it `macs`, `uuid` or `serial`'));
    }
    if (typeof disk === 'string' && /^\/dev\/(sd|hd|vd|xvd|nvme|mmcblk)/.test(disk)) {
      const better = 'use /dev/disk/by-id/…, /dev/disk/by-path/… or a selector';
      problems.push(item.warning(['disk'], `${disk} can name another disk at the next boot; ${better}`));
    }
    if (typeof disk === 'object' && (disk.minSizeGB ?? 0) > (disk.maxSizeGB ?? Number.POSITIVE_INFINITY)) {
      const sizes = `minSizeGB ${disk.minSizeGB} is more than maxSizeGB ${disk.maxSizeGB}`;
      problems.push(item.error(['disk'], `no disk can fit: ${sizes}`));
    }
    const profile = profiles.get(pools.get(pool)?.value.profile ?? '')?.value;
    if (profile?.install === 'disk' && disk === undefined) {
      const why = `its profile "${profile.name}" has \`install: disk\``;
      problems.push(item.error([], `"disk" is missing: ${why}, and which disk to write to is never guessed`));
    }
    problems.push(...identityFaults(item, pools.get(pool)?.value, profile));
  }
  return problems;
}

function clusterFaults(items: Items): Problem[] {
  const hostsOf = hostsByCluster(items);
  return items.clusters.flatMap((item) => {
    const { name, kubernetes, containerd } = item.value;
    const problems: Problem[] = [];
    const fault = kubernetesFault(kubernetes);
    if (fault !== undefined) problems.push(item.error(['kubernetes'], fault));
    const odd = containerd === undefined ? undefined : containerdFault(kubernetes, containerd);
    if (fault === undefined && odd !== undefined) problems.push(item.warning(['containerd'], odd));
    return [...problems, ...cidrFaults(item, hostsOf.get(name) ?? []), ...pipelineFaults(item)];
  });
}

function controlPlaneFaults(items: Items): Problem[] {
  const pools = byName(items.pools);
  const hostsOf = hostsByCluster(items);
  const members = memberNames(items);
  return items.clusters.flatMap((item) => {
    const { name, endpoint } = item.value;
    const problems: Problem[] = [];
    const hosts = (hostsOf.get(name) ?? []).filter(
      ({ value }) => members.has(value.name) && pools.get(value.pool)?.value.role === 'control-plane',
    );
    const controlPlane = new Set(hosts.map(({ value }) => value.name)).size;
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
      const what = 'the virtual address or load balancer in front of them, such as 10.0.0.10:6443';
      problems.push(
        item.error([], `"endpoint" is missing: ${controlPlane} control-plane hosts need one (${what})`),
      );
    }
    return problems;
  });
}

function hostsByCluster({ pools, hosts }: Items): Map<string | undefined, Items['hosts']> {
  const poolByName = byName(pools);
  return Map.groupBy(hosts, (host) => poolByName.get(host.value.pool)?.value.cluster);
}

function cidrFaults(item: Item<Cluster>, hosts: Items['hosts']): Problem[] {
  const defaults = { podCidr: DEFAULT_POD_CIDR, serviceCidr: DEFAULT_SERVICE_CIDR };
  const networks = (['podCidr', 'serviceCidr'] as const).flatMap((key) =>
    toList(item.value[key] ?? defaults[key]).flatMap((text) => {
      const parsed = parseCidr(text);
      const shownAs = `\`${key}\` ${text}${item.value[key] === undefined ? ' (the default)' : ''}`;
      return 'cidr' in parsed ? [{ key, cidr: parsed.cidr, shownAs }] : [];
    }),
  );
  const problems: Problem[] = [];
  networks.forEach((a, index) => {
    for (const b of networks.slice(index + 1)) {
      if (!overlaps(a.cidr, b.cidr)) continue;
      const place = item.value[b.key] === undefined ? a.key : b.key;
      problems.push(item.error([place], `${b.shownAs} overlaps with ${a.shownAs}`));
    }
  });
  const versionsOf = (wanted: string): Set<4 | 6> =>
    new Set(networks.filter(({ key }) => key === wanted).map(({ cidr }) => cidr.version));
  const [pods, services] = [versionsOf('podCidr'), versionsOf('serviceCidr')];
  if (pods.size > 0 && services.size > 0 && ![...pods].some((version) => services.has(version))) {
    const place = item.value.serviceCidr === undefined ? 'podCidr' : 'serviceCidr';
    const both = networks.map(({ shownAs }) => shownAs).join(' and ');
    problems.push(item.error([place], `${both} must both be IPv4, both IPv6, or lists of one of each`));
  }
  for (const host of hosts) {
    const { ip } = host.value;
    const inside = ip === undefined ? undefined : networks.find(({ cidr }) => contains(cidr, ip));
    if (inside === undefined) continue;
    problems.push(
      host.error(
        ['ip'],
        `its address ${ip} lies inside the ${inside.shownAs} of ${item.subject}, which is not for machines`,
      ),
    );
  }
  return problems;
}

/** `identity: boot` is for machines that keep nothing and may join again. */
function identityFaults(item: Item<Host>, pool: Pool | undefined, profile: Profile | undefined): Problem[] {
  const { identity = pool?.identity } = item.value;
  if (identity !== 'boot' || pool === undefined || profile === undefined) return [];
  const place = item.value.identity === undefined ? [] : ['identity'];
  if (pool.role === 'control-plane') {
    return [
      item.error(place, '`identity: boot` is only for workers: a control-plane host must keep its data'),
    ];
  }
  return profile.install === 'disk'
    ? [item.error(place, '`identity: boot` is only for hosts that run from RAM')]
    : [];
}

/** Members that run from RAM without a disk lose what they are known by. */
function forgetfulHosts({ pools, profiles, hosts }: Items): Problem[] {
  return pools.flatMap((item) => {
    const { name, cluster, role, identity } = item.value;
    const profile = byName(profiles).get(item.value.profile)?.value;
    if (cluster === undefined || profile?.install === 'disk') return [];
    const forgetful = hosts
      .filter(({ value }) => value.pool === name && value.disk === undefined)
      .filter(({ value }) => (value.identity ?? identity) !== 'boot')
      .map(({ value }) => value.name);
    if (forgetful.length === 0) return [];
    const instead =
      role === 'control-plane'
        ? ''
        : ', or the pool `identity: boot` if they may join again after every boot';
    return [
      item.warning(
        [],
        `${shortList(forgetful)} will be unknown after a reboot: they run from RAM and keep nothing; give them \`disk\`${instead}`,
      ),
    ];
  });
}

function hostsWithoutMacs({ pools, hosts }: Items): Problem[] {
  return pools.flatMap((item) => {
    const names = hosts
      .filter(({ value }) => value.pool === item.value.name && value.macs === undefined)
      .map(({ value }) => value.name);
    if (names.length === 0) return [];
    const why = "their NICs can't be checked, so their secrets wait (setting `hostsWithoutMacs`)";
    return [item.warning([], `${shortList(names)} without \`macs\`: ${why}`)];
  });
}

function shortList(names: readonly string[]): string {
  return names.length > 3 ? `${names.slice(0, 3).join(', ')} and others` : names.join(', ');
}

function poolFaults(items: Items): Problem[] {
  return items.pools.flatMap((item) => {
    const { name, replicas, role, cluster } = item.value;
    const problems: Problem[] = [];
    const hosts = items.hosts.filter((host) => host.value.pool === name).length;
    if (replicas !== undefined && replicas > hosts) {
      problems.push(
        item.warning(['replicas'], `${replicas} replicas, but the number of hosts in this pool is ${hosts}`),
      );
    }
    if (role === 'control-plane' && cluster === undefined) {
      problems.push(
        item.error(['role'], '"cluster" is missing: a pool with `role: control-plane` needs one'),
      );
    }
    return problems;
  });
}

function byName<T extends { name: string }>(items: readonly Item<T>[]): Map<string, Item<T>> {
  return new Map(items.map((item) => [item.value.name, item]));
}
