import { describe, expect, it } from 'vitest';
import { makeRevision, openRevision } from '../../server/inventory/revision.ts';
import { BASE, inventoryOf, lab } from './make.ts';

const hash = (files: string | Record<string, string>): string => makeRevision(inventoryOf(files)).hash;

const HOSTS = lab(
  '{name: n2, pool: workers, macs: [52:54:00:ab:cd:ef], variables: {a: 1, b: {c: [1, 2]}}}',
  '{name: n3, pool: workers, uuid: 4c4c4544-0042-3510-8052-b4c04f384332, ip: fd02::1}',
);

describe('a revision', () => {
  it('is a hash that fits in a line', () => {
    expect(hash(HOSTS)).toMatch(/^[0-9a-f]{16}$/);
  });

  it('holds the whole inventory', () => {
    const inventory = inventoryOf(HOSTS);
    expect(openRevision(makeRevision(inventory).document)).toEqual(inventory);
    expect(openRevision(new Uint8Array(makeRevision(inventory).document))).toEqual(inventory);
  });

  it.each<{ what: string; files: string | Record<string, string> }>([
    { what: 'comments', files: `# a comment\n${HOSTS}\n# another\n` },
    {
      what: 'the style of YAML',
      files: HOSTS.replace(
        '{name: n1, pool: control, macs: [52:54:00:12:34:01]}',
        '\n    name: n1\n    pool: control\n    macs:\n      - 52:54:00:12:34:01',
      ),
    },
    { what: 'the spelling of a MAC address', files: HOSTS.replace('52:54:00:ab:cd:ef', '5254.00AB.CDEF') },
    {
      what: 'the spelling of a UUID',
      files: HOSTS.replace('4c4c4544-0042-3510-8052-b4c04f384332', '4C4C4544004235108052B4C04F384332'),
    },
    { what: 'the spelling of an IP address', files: HOSTS.replace('fd02::1', '"FD02:0:0::1"') },
    { what: 'the spelling of a version', files: HOSTS.replace('1.36.4', 'v1.36.4') },
    { what: 'the order of keys', files: HOSTS.replace('{a: 1, b: {c: [1, 2]}}', '{b: {c: [1, 2]}, a: 1}') },
    {
      what: 'a default that is written out',
      files: HOSTS.replace('os: flatcar', 'os: flatcar, arch: amd64, install: ram'),
    },
    {
      what: 'a default network that is written out',
      files: HOSTS.replace('containerd:', 'podCidr: 10.244.0.0/16, containerd:'),
    },
    {
      what: 'files and their order',
      files: { 'b.yaml': HOSTS.slice(BASE.length), 'a.yaml': BASE },
    },
    {
      what: 'the order of hosts',
      files: `${BASE}hosts:\n${HOSTS.slice(BASE.length).split('\n').slice(1, -1).reverse().join('\n')}\n`,
    },
  ])('is the same whatever $what', ({ files }) => {
    expect(hash(files)).toBe(hash(HOSTS));
  });

  it.each([
    { what: 'a host more', from: '{name: n3,', to: '{name: n4,' },
    { what: 'a variable', from: 'a: 1', to: 'a: 2' },
    { what: 'the type of a variable', from: 'a: 1', to: 'a: "1"' },
    { what: 'the order of a list', from: '[1, 2]', to: '[2, 1]' },
    { what: 'a version', from: '1.36.4', to: '1.36.5' },
    { what: 'the channel', from: 'os: flatcar', to: 'os: flatcar, channel: beta' },
  ])('is another one by $what', ({ from, to }) => {
    expect(HOSTS).toContain(from);
    expect(hash(HOSTS.replace(from, to))).not.toBe(hash(HOSTS));
  });

  it('does not depend on which of two equal numbers comes first in the files', () => {
    const a = '{name: n01, pool: workers, serial: A}';
    const b = '{name: n001, pool: workers, serial: B}';
    expect(hash(lab(a, b))).toBe(hash(lab(b, a)));
  });
});
