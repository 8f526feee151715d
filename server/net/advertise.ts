import { contains, parseCidr, parseIp } from './cidr.ts';

/** One address of one network interface of this machine. */
export interface LocalAddress {
  interface: string;
  address: string;
  /** The network it is in, such as 10.0.0.0/24. */
  network: string;
  internal: boolean;
}

export interface AdvertiseInput {
  /** What the operator set, if anything: an address, host:port or a URL. */
  wanted?: string | undefined;
  httpPort: number;
  /** The address that was bound; an unspecified one (0.0.0.0, ::) says nothing. */
  bind: string;
  local: readonly LocalAddress[];
  /** Addresses of hosts in the inventory. */
  hosts: readonly string[];
  /** The interface of the default route, if there is one. */
  defaultInterface?: string | undefined;
}

export interface Advertised {
  /** `http://10.0.0.5:8080`, without a slash at the end. */
  url: string;
  /** What DHCP's next-server is set to. */
  address: string;
  /** Why this one, for people. */
  reason: string;
  warnings: string[];
}

/** How machines on the network reach this server. Pure: the interfaces are given. */
export function chooseAdvertised(input: AdvertiseInput): Advertised {
  const { wanted, httpPort, local, hosts } = input;
  const warnings: string[] = [];
  if (wanted !== undefined) {
    const url = toUrl(wanted, httpPort);
    const address = new URL(url).hostname.replaceAll(/[[\]]/g, '');
    const isLocal = local.some((entry) => entry.address === address);
    if (isLoopback(address)) {
      warnings.push(
        `The advertised address ${address} is a loopback address: no other machine can reach it.`,
      );
    } else if (parseIp(address) === undefined) {
      warnings.push(`DHCP's next-server wants an address, but the advertised URL has the name ${address}.`);
    } else if (!isLocal) {
      warnings.push(
        `No interface of this machine has the advertised address ${address}: right only behind NAT or a proxy.`,
      );
    }
    return { url, address, reason: 'set by --advertise', warnings };
  }
  const chosen = choose(input);
  const networks = local.filter((entry) => entry.address === chosen.address).map((entry) => entry.network);
  const isNear = (host: string): boolean => networks.some((network) => isIn(network, host));
  if (isLoopback(chosen.address)) {
    warnings.push(
      isUnspecified(input.bind)
        ? 'Only the loopback address was found, which no other machine can reach: set --advertise.'
        : `It listens on ${input.bind} only, which no other machine can reach: set --bind.`,
    );
  } else if (hosts.length > 0 && !hosts.some(isNear)) {
    warnings.push(
      `No host address of the inventory (${hosts.length} given) is in the network of ${chosen.address}. If the hosts don't reach it through a router, set --advertise.`,
    );
  }
  return { url: toUrl(chosen.address, httpPort), address: chosen.address, reason: chosen.reason, warnings };
}

function choose({ bind, local, hosts, defaultInterface }: AdvertiseInput): {
  address: string;
  reason: string;
} {
  if (!isUnspecified(bind)) return { address: bind, reason: 'the address it listens on' };
  const isServed = (address: string): boolean => bind.includes(':') || !address.includes(':');
  const outside = local.filter(
    ({ internal, address }) => !internal && !address.startsWith('fe80:') && isServed(address),
  );
  // Firmware that boots over IPv6 alone is rare: prefer IPv4 when hosts don't tell.
  const ordered = outside.toSorted(
    (a, b) => Number(a.address.includes(':')) - Number(b.address.includes(':')),
  );
  const counted = ordered.map((entry) => ({
    entry,
    hosts: hosts.filter((host) => isIn(entry.network, host)).length,
  }));
  const best = counted.reduce<(typeof counted)[number] | undefined>(
    (most, next) => (next.hosts > (most?.hosts ?? 0) ? next : most),
    undefined,
  );
  if (best !== undefined) {
    const { entry } = best;
    return {
      address: entry.address,
      reason: `${entry.interface} reaches ${best.hosts} of the inventory's hosts`,
    };
  }
  const routed = ordered.find((entry) => entry.interface === defaultInterface);
  if (routed !== undefined)
    return { address: routed.address, reason: `${routed.interface} has the default route` };
  const first = ordered[0];
  if (first !== undefined)
    return { address: first.address, reason: `${first.interface} is the first interface` };
  return { address: '127.0.0.1', reason: 'there is no other interface' };
}

function toUrl(wanted: string, httpPort: number): string {
  if (/^https?:\/\//.test(wanted)) return new URL(wanted).origin;
  const bare = wanted.replace(/\/$/, '');
  if (parseIp(bare)?.version === 6) return `http://[${bare}]:${httpPort}`;
  const url = new URL(`http://${bare}`);
  // A bare address takes our port; one with a port keeps it.
  if (url.port === '' && !/:\d+$/.test(bare)) url.port = String(httpPort);
  return url.origin;
}

function isIn(network: string, address: string): boolean {
  const parsed = parseCidr(network);
  return 'cidr' in parsed && contains(parsed.cidr, address);
}

function isUnspecified(bind: string): boolean {
  return parseIp(bind)?.value === 0n;
}

export function isLoopback(address: string): boolean {
  return address === '::1' || address === 'localhost' || /^(::ffff:)?127\./.test(address);
}
