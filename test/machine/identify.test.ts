import { describe, expect, it } from 'vitest';
import { type Claim, identify } from '../../server/machine/identify.ts';
import { indexOf } from '../support/hosts.ts';

const index = indexOf(`
profiles: [{name: p, os: flatcar}]
pools: [{name: w, profile: p}]
hosts:
  - {name: three-cards, pool: w, macs: ['52:54:00:00:00:01', '52:54:00:00:00:02', '52:54:00:00:00:03'], ip: 10.0.0.1}
  - {name: by-uuid, pool: w, uuid: 12345678-1234-5678-90ab-cdef01234567}
  - {name: by-serial, pool: w, serial: SN-7}
`);
const who = (claim: Claim): string => {
  const found = identify(index, claim);
  return found.kind === 'host' ? found.host.name : found.kind;
};

describe('a machine is who its own marks say', () => {
  it.each<[Claim, string]>([
    [{ mac: '52-54-00-00-00-02' }, 'three-cards'],
    [{ mac: '525400000003', uuid: 'aaaaaaaa-1234-5678-90ab-cdef01234567' }, 'three-cards'],
    [{ uuid: '12345678-1234-5678-90AB-CDEF01234567' }, 'by-uuid'],
    [{ uuid: '78563412-3412-7856-90ab-cdef01234567' }, 'by-uuid'],
    [{ mac: '52:54:00:99:99:99', uuid: '12345678-1234-5678-90ab-cdef01234567' }, 'by-uuid'],
    [{ serial: 'SN-7' }, 'by-serial'],
    [{ mac: '52:54:00:99:99:99' }, 'unknown'],
    [{}, 'unknown'],
    [{ mac: 'nonsense', uuid: 'nonsense' }, 'unknown'],
  ])('%j is %s', (claim, name) => {
    expect(who(claim)).toBe(name);
  });

  it('an address counts only for a machine that says nothing else', () => {
    expect(who({ address: '10.0.0.1' })).toBe('three-cards');
    expect(who({ address: '10.0.0.1', mac: '52:54:00:99:99:99' })).toBe('unknown');
    expect(who({ address: '10.0.0.2' })).toBe('unknown');
  });
});

it('a serial number is kept without what no database and no terminal takes', () => {
  expect(identify(index, { serial: 'SN\u0000\u001b[2J-8\n' }).identity.serial).toBe('SN[2J-8');
  expect(identify(index, { serial: '\u0000' }).identity.serial).toBeUndefined();
});

it('marks of two hosts at once are refused, and both are named', () => {
  const found = identify(index, { mac: '52:54:00:00:00:01', serial: 'SN-7' });
  expect(found).toMatchObject({
    kind: 'ambiguous',
    hosts: [{ name: 'three-cards' }, { name: 'by-serial' }],
    reason: "its MAC 52:54:00:00:00:01 is three-cards's, but its serial SN-7 is by-serial's",
  });
});

it.each([
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  '03000200-0400-0500-0006-000700080009',
])('the UUID %s, which vendors forgot to fill in, is no identity', (uuid) => {
  expect(who({ mac: '52:54:00:00:00:01', uuid })).toBe('three-cards');
});
