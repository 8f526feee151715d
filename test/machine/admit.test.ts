import { describe, expect, it } from 'vitest';
import { type AdmitInput, type AdmitPolicy, admit } from '../../server/machine/admit.ts';
import { hostSpec } from '../support/hosts.ts';

const MAC = '52:54:00:12:34:01';
const policy: AdmitPolicy = {
  expiryMs: 3_600_000,
  checkMac: true,
  refuseOtherAddress: false,
  hostsWithoutMacs: 'wait',
};
const attached = { address: '10.0.0.9', isAttached: true, mac: MAC };
const routed = { address: '192.168.9.9', isAttached: false };

const base: AdmitInput = {
  host: { ...hostSpec(), macs: [MAC, '52:54:00:12:34:02'] },
  asker: attached,
  idleMs: 0,
  openedFrom: '10.0.0.9',
  policy,
};

describe('who gets what only one host may have', () => {
  it.each<{ what: string; change: Partial<AdmitInput>; verdict: string; says?: RegExp }>([
    { what: 'the host itself', change: {}, verdict: 'admitted' },
    {
      what: 'another card of it',
      change: { asker: { ...attached, mac: '52:54:00:12:34:02' } },
      verdict: 'admitted',
    },
    {
      what: 'a stranger with its token on the same link',
      change: { asker: { ...attached, mac: 'aa:bb:cc:00:00:01' } },
      verdict: 'refused',
      says: /on the card aa:bb:cc:00:00:01, which is not one of n1's/,
    },
    {
      what: 'the same, where cards are not looked at',
      change: { asker: { ...attached, mac: 'aa:bb:cc:00:00:01' }, policy: { ...policy, checkMac: false } },
      verdict: 'admitted',
    },
    {
      what: 'one whose card the kernel has just forgotten',
      change: { asker: { address: '10.0.0.9', isAttached: true } },
      verdict: 'wait',
      says: /not known/,
    },
    {
      what: 'a host that is known by its UUID only',
      change: { host: { ...hostSpec(), macs: [] } },
      verdict: 'wait',
      says: /n1 has no `macs`, so its NIC can't be checked/,
    },
    {
      what: 'the same, where that is accepted',
      change: { host: { ...hostSpec(), macs: [] }, policy: { ...policy, hostsWithoutMacs: 'accept' } },
      verdict: 'admitted',
    },
    {
      what: 'the same, behind a router, where no NIC can be seen',
      change: { host: { ...hostSpec(), macs: [] }, asker: routed, openedFrom: routed.address },
      verdict: 'admitted',
    },
    {
      what: 'one behind a router',
      change: { asker: routed, openedFrom: routed.address },
      verdict: 'admitted',
    },
    {
      what: 'one that has another address by now',
      change: { openedFrom: '10.0.0.8' },
      verdict: 'admitted',
      says: /its kernel went to 10.0.0.8, but 10.0.0.9 asks/,
    },
    {
      what: 'the same, where that is refused',
      change: { openedFrom: '10.0.0.8', policy: { ...policy, refuseOtherAddress: true } },
      verdict: 'refused',
      says: /its kernel went to/,
    },
    {
      what: 'one that was silent for too long',
      change: { idleMs: 3_600_001 },
      verdict: 'refused',
      says: /has expired: nothing was heard for 60 minutes/,
    },
    {
      what: 'one whose token has no time limit',
      change: { idleMs: undefined },
      verdict: 'admitted',
    },
    { what: 'a host that is held', change: { hold: 'smoke' }, verdict: 'wait', says: /n1 is held: smoke/ },
  ])('$what: $verdict', ({ change, verdict, says }) => {
    const admission = admit({ ...base, ...change });
    expect(admission.verdict).toBe(verdict);
    if (says !== undefined) expect(Object.values(admission)[1]).toMatch(says);
  });
});
