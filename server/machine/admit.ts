import type { HostSpec } from '../inventory/model.ts';

/** Who asks for what only a certain host may have. */
export interface Asker {
  address: string;
  /** It is on a link of this machine, not behind a router. */
  isAttached: boolean;
  /** Which card has that address, as the kernel knows; `undefined` when it doesn't. */
  mac?: string | undefined;
}

export interface AdmitInput {
  host: HostSpec;
  hold?: string | undefined;
  asker: Asker;
  /** How long its boot has made no progress; `undefined` for a token without a time limit. */
  idleMs?: number | undefined;
  /** Where this boot's kernel went to. */
  openedFrom?: string | undefined;
  policy: AdmitPolicy;
}

export interface AdmitPolicy {
  /** How long a token is good for after the last progress. */
  expiryMs: number;
  /** Whether the asker's card must be one of the host's, where that can be seen. */
  checkMac: boolean;
  /** What is done about hosts whose NIC can't be checked, because the inventory doesn't know it. */
  hostsWithoutMacs: 'wait' | 'accept';
  /** Whether another address than the kernel's is refused, or only noted. */
  refuseOtherAddress: boolean;
}

export type Admission =
  | { verdict: 'admitted'; note?: string }
  /** Not now: the machine is to ask again. */
  | { verdict: 'wait'; why: string }
  | { verdict: 'refused'; why: string };

/** Why a token is good for nothing any more: an old one must not come back to life by being used. */
export function expiry(
  idleMs: number | undefined,
  { expiryMs }: Pick<AdmitPolicy, 'expiryMs'>,
): string | undefined {
  if (idleMs === undefined || idleMs <= expiryMs) return undefined;
  const minutes = Math.round(idleMs / 60_000);
  return `the token has expired: nothing was heard for ${minutes} minutes`;
}

/**
 * Whether the holder of a host's token gets what only that host may have. Tokens cross the network in clear, so the
 * token alone is not enough where more can be seen. Pure.
 */
export function admit(input: AdmitInput): Admission {
  const { host, hold, asker, idleMs, openedFrom, policy } = input;
  if (hold !== undefined) return { verdict: 'wait', why: `${host.name} is held: ${hold}` };
  const expired = expiry(idleMs, policy);
  if (expired !== undefined) return { verdict: 'refused', why: expired };
  if (policy.checkMac && asker.isAttached && host.macs.length === 0 && policy.hostsWithoutMacs === 'wait') {
    return {
      verdict: 'wait',
      why: `${host.name} has no \`macs\`, so its NIC can't be checked: add them, or set hostsWithoutMacs to accept`,
    };
  }
  if (policy.checkMac && asker.isAttached && host.macs.length > 0) {
    // It has just spoken to us, so the kernel knows its card: if not, it has only forgotten it for a moment.
    if (asker.mac === undefined) return { verdict: 'wait', why: `the card of ${asker.address} is not known` };
    if (!host.macs.includes(asker.mac)) {
      return {
        verdict: 'refused',
        why: `${asker.address} is on the card ${asker.mac}, which is not one of ${host.name}'s`,
      };
    }
  }
  if (openedFrom === undefined || openedFrom === asker.address) return { verdict: 'admitted' };
  const why = `its kernel went to ${openedFrom}, but ${asker.address} asks`;
  return policy.refuseOtherAddress ? { verdict: 'refused', why } : { verdict: 'admitted', note: why };
}
