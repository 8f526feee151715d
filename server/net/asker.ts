import type { LocalAddress } from './advertise.ts';
import { contains, parseCidr } from './cidr.ts';
import { plainAddress } from './plain-address.ts';

/** Who sent a request, as far as this machine can see. */
export interface Seen {
  address: string;
  /** It is on a link of this machine, not behind a router; and it is not this machine itself. */
  isAttached: boolean;
  mac: string | undefined;
}

/** Pure: the machine's own addresses, and what its kernel knows of its neighbours, are given. */
export function seeAsker(
  remoteAddress: string,
  local: readonly LocalAddress[],
  neighbourMac: (address: string) => string | undefined,
): Seen {
  const address = plainAddress(remoteAddress);
  const isOwn = local.some((own) => own.address === address);
  const isAttached =
    !isOwn &&
    // Of IPv6 neighbours the kernel tells only those who may ask it.
    !address.includes(':') &&
    local.some(({ network, internal }) => {
      const parsed = parseCidr(network);
      return !internal && 'cidr' in parsed && contains(parsed.cidr, address);
    });
  return { address, isAttached, mac: isAttached ? neighbourMac(address) : undefined };
}
