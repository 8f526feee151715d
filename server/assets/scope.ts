import { isIP } from 'node:net';
import { contains, parseCidr } from '../net/cidr.ts';

/** How near an address is. Ordered: what is nearer trusts more, so nobody from farther away may send us there. */
export const SCOPES = ['public', 'private', 'loopback', 'link-local'] as const;
export type Scope = (typeof SCOPES)[number];

const NETWORKS: readonly [string, Scope][] = [
  ['127.0.0.0/8', 'loopback'],
  ['0.0.0.0/8', 'loopback'], // Linux takes 0.0.0.0 for itself
  ['::1/128', 'loopback'],
  ['::/128', 'loopback'],
  ['10.0.0.0/8', 'private'],
  ['172.16.0.0/12', 'private'],
  ['192.168.0.0/16', 'private'],
  ['100.64.0.0/10', 'private'],
  ['198.18.0.0/15', 'private'],
  ['fc00::/7', 'private'],
  // Where clouds keep their metadata; and groups, which are no host at all.
  ['169.254.0.0/16', 'link-local'],
  ['fe80::/10', 'link-local'],
  ['224.0.0.0/3', 'link-local'],
  ['ff00::/8', 'link-local'],
];

const PARSED = NETWORKS.flatMap(([text, scope]) => {
  const parsed = parseCidr(text);
  return 'cidr' in parsed ? [{ cidr: parsed.cidr, scope }] : [];
});

/** How near an IP address is. What can't be read is as near as can be: it is trusted with nothing. */
export function scopeOf(address: string): Scope {
  const plain = address
    .replaceAll(/[[\]]/g, '')
    .replace(/%.*$/, '')
    .replace(/^::ffff:(?=\d+\.)/i, '');
  // The same written in hex, as URLs do it.
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(plain);
  if (mapped !== null) return scopeOf(dotted(mapped[1]!, mapped[2]!));
  if (isIP(plain) === 0) return 'link-local';
  return PARSED.find(({ cidr }) => contains(cidr, plain))?.scope ?? 'public';
}

function dotted(high: string, low: string): string {
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [a >> 8, a & 255, b >> 8, b & 255].join('.');
}

/** Whether who is at `base` may send us to `target`. */
export function mayLeadTo(base: Scope, target: Scope): boolean {
  return SCOPES.indexOf(target) <= SCOPES.indexOf(base);
}
