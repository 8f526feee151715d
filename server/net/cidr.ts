import { isIP } from 'node:net';

export interface Cidr {
  version: 4 | 6;
  /** The first address of the network. */
  first: bigint;
  last: bigint;
  /** The one spelling of it. */
  text: string;
}

/** An IP address as a number, or `undefined` if it isn't one. */
export function parseIp(text: string): { version: 4 | 6; value: bigint } | undefined {
  switch (isIP(text)) {
    case 4:
      return { version: 4, value: ipv4(text) };
    case 6:
      return text.includes('%') ? undefined : { version: 6, value: ipv6(text) };
    default:
      return undefined;
  }
}

/** The one spelling of an address (RFC 5952 for IPv6), or `undefined` if it isn't one. */
export function normaliseIp(text: string): string | undefined {
  const ip = parseIp(text);
  return ip === undefined ? undefined : formatIp(ip.version, ip.value);
}

export type CidrResult = { cidr: Cidr } | { fault: string };

export function parseCidr(text: string): CidrResult {
  const [address = '', prefixText, ...rest] = text.split('/');
  const ip = parseIp(address);
  if (ip === undefined || prefixText === undefined || rest.length > 0 || !/^\d{1,3}$/.test(prefixText)) {
    return { fault: 'expected a network such as 10.244.0.0/16' };
  }
  const bits = ip.version === 4 ? 32 : 128;
  const prefix = Number(prefixText);
  if (prefix > bits) return { fault: `expected a prefix of at most /${bits}` };
  const size = 1n << BigInt(bits - prefix);
  const first = ip.value - (ip.value % size);
  const network = `${formatIp(ip.version, first)}/${prefix}`;
  if (first !== ip.value)
    return { fault: `expected a network, such as ${network}, and not an address in it` };
  return { cidr: { version: ip.version, first, last: first + size - 1n, text: network } };
}

/** `10.0.0.5/24` -> `10.0.0.0/24`: what an interface says about itself, as a network. */
export function networkOf(interfaceCidr: string): string {
  const [address = '', prefix = ''] = interfaceCidr.split('/');
  const ip = parseIp(address);
  if (ip === undefined) return interfaceCidr;
  const hostBits = BigInt((ip.version === 4 ? 32 : 128) - Number(prefix));
  const first = (ip.value >> hostBits) << hostBits;
  return `${formatIp(ip.version, first)}/${prefix}`;
}

function formatIp(version: 4 | 6, value: bigint): string {
  const [count, bits] = version === 4 ? ([4, 8n] as const) : ([8, 16n] as const);
  const groups = Array.from({ length: count }, (_, index) => {
    const shift = bits * BigInt(count - 1 - index);
    return (value >> shift) & ((1n << bits) - 1n);
  });
  if (version === 4) return groups.join('.');
  const text = groups.map((group) => group.toString(16)).join(':');
  // The longest run of two or more zero groups, the first of equals, becomes "::".
  const runs = text.match(/\b0(?::0)+\b/g) ?? [];
  const longest = runs.reduce((best, run) => (run.length > best.length ? run : best), '');
  if (longest === '') return text;
  const at = text.search(new RegExp(`\\b${longest}\\b`));
  return `${text.slice(0, at).replace(/:$/, '')}::${text.slice(at + longest.length).replace(/^:/, '')}`;
}

export function overlaps(a: Cidr, b: Cidr): boolean {
  return a.version === b.version && a.first <= b.last && b.first <= a.last;
}

export function contains(cidr: Cidr, address: string): boolean {
  const ip = parseIp(address);
  return ip !== undefined && ip.version === cidr.version && cidr.first <= ip.value && ip.value <= cidr.last;
}

function ipv4(text: string): bigint {
  return BigInt(text.split('.').reduce((value, part) => value * 256 + Number(part), 0));
}

function ipv6(text: string): bigint {
  // A dotted tail (::ffff:10.0.0.1) stands for two groups.
  const plain = text.replace(/\d+\.\d+\.\d+\.\d+$/, (tail) => {
    const value = ipv4(tail);
    return `${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`;
  });
  const [head = '', tail] = plain.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0');
  return [...left, ...zeros, ...right].reduce((value, group) => value * 65536n + BigInt(`0x${group}`), 0n);
}
