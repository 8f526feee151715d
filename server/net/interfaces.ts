import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import type { LocalAddress } from './advertise.ts';
import { networkOf } from './cidr.ts';

/** The addresses of this machine, in the order the system gives them. */
export function localAddresses(): LocalAddress[] {
  return Object.entries(networkInterfaces()).flatMap(([name, addresses]) =>
    (addresses ?? []).flatMap(({ address, cidr, internal }) =>
      cidr === null ? [] : [{ interface: name, address, network: networkOf(cidr), internal }],
    ),
  );
}

/** The interface that packets to the rest of the world leave by; `undefined` where the system doesn't tell. */
export function defaultInterface(): string | undefined {
  try {
    return parseRoutes(readFileSync('/proc/net/route', 'utf8'));
  } catch {
    return undefined;
  }
}

/** Linux's routing table: a default route has destination and mask 0; of several, the lowest metric wins. */
export function parseRoutes(table: string): string | undefined {
  return table
    .split('\n')
    .slice(1)
    .map((row) => row.trim().split(/\s+/))
    .filter((columns) => columns[1] === ANY && columns[7] === ANY)
    .toSorted((a, b) => Number(a[6]) - Number(b[6]))[0]?.[0];
}

/** 0.0.0.0, as the kernel writes it. VPNs add 0.0.0.0/1, which looks the same but for its mask. */
const ANY = '00000000';
