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

/** Linux's routing table: the default route has the destination 0. */
export function parseRoutes(table: string): string | undefined {
  const rows = table.split('\n').slice(1);
  return rows.map((row) => row.split('\t')).find((columns) => columns[1] === '00000000')?.[0];
}
