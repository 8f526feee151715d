import { describe, expect, it } from 'vitest';
import { sha256InSums, sha512InDigests, versionInText } from '../../server/assets/digests.ts';
import { findIn } from '../../server/assets/folder-source.ts';
import { Meter } from '../../server/assets/meter.ts';
import { needs } from '../../server/assets/needs.ts';
import { plan, sysextFile } from '../../server/assets/plan.ts';
import { isStale } from '../../server/assets/prune.ts';
import { mayLeadTo, type Scope, scopeOf } from '../../server/assets/scope.ts';
import { shownUrl } from '../../server/assets/shown-url.ts';
import { indexOf } from '../support/hosts.ts';

const FLEET = indexOf(`
clusters:
  - {name: a, kubernetes: v1.36.4, containerd: 2.1.5}
  - {name: b, kubernetes: 1.35.1}
profiles:
  - {name: ram, os: flatcar, version: 4593.2.5}
  - {name: disk, os: flatcar, version: 4593.2.5, install: disk}
  - {name: arm, os: flatcar, channel: beta, arch: arm64}
pools:
  - {name: ca, cluster: a, role: control-plane, profile: ram}
  - {name: wa, cluster: a, profile: arm}
  - {name: cb, cluster: b, role: control-plane, profile: disk}
hosts: []
`).inventory;

const MIRRORS = {
  flatcar: 'https://{channel}.example/{board}/{version}',
  update: 'https://update.example/{board}/{version}/',
  bakery: 'https://bakery.example/{name}',
};

describe('needs', () => {
  it('are what profiles and clusters need, each once', () => {
    expect(needs(FLEET)).toEqual({
      images: [
        { channel: 'beta', arch: 'arm64', version: 'current', onDisk: false },
        { channel: 'stable', arch: 'amd64', version: '4593.2.5', onDisk: true },
      ],
      sysexts: [
        { name: 'kubernetes', version: '1.36.4', arch: 'amd64' },
        { name: 'containerd', version: '2.1.5', arch: 'amd64' },
        { name: 'kubernetes', version: '1.35.1', arch: 'amd64' },
        { name: 'kubernetes', version: '1.36.4', arch: 'arm64' },
        { name: 'containerd', version: '2.1.5', arch: 'arm64' },
      ],
    });
  });

  it('become files with where they are from', () => {
    const [current, ...sets] = plan(needs(FLEET), MIRRORS, () => '4757.1.0');
    expect(current!.title).toBe('Flatcar beta 4757.1.0 arm64');
    expect(sets[0]!.files.map(({ name }) => name.split('/').at(-1))).toEqual([
      'version.txt',
      'flatcar_production_pxe.vmlinuz',
      'flatcar_production_pxe_image.cpio.gz',
      'flatcar_production_image.bin.bz2',
      'flatcar_production_update.gz',
    ]);
    expect(sets[0]!.files[1]).toMatchObject({
      name: 'flatcar/stable/amd64-usr/4593.2.5/flatcar_production_pxe.vmlinuz',
      url: 'https://stable.example/amd64-usr/4593.2.5/flatcar_production_pxe.vmlinuz',
    });
    expect(sets[0]!.files[4]!.url).toBe(
      'https://update.example/amd64-usr/4593.2.5/flatcar_production_update.gz',
    );
    expect(sets[0]!.alias).toBeUndefined();
    expect(current).toMatchObject({ alias: 'flatcar/beta/arm64-usr/current' });
    expect(sets[1]!.files[0]).toMatchObject({
      name: 'sysext/kubernetes/kubernetes-v1.36.4-x86-64.raw',
      proof: { url: 'https://bakery.example/kubernetes/SHA256SUMS' },
    });
    expect(plan(needs(FLEET), MIRRORS, () => undefined)).toHaveLength(6);
  });

  it('have the bakery’s names', () => {
    expect(sysextFile({ name: 'containerd', version: '2.0.4', arch: 'arm64' })).toBe(
      'containerd-2.0.4-arm64.raw',
    );
  });
});

describe('texts that go with images', () => {
  it('DIGESTS: the SHA-512 of the right file in the right section', () => {
    const [other, right] = ['a'.repeat(128), 'b'.repeat(128)];
    const text = `# MD5 HASH\n${'c'.repeat(32)}  x\n# SHA1 HASH\n${'d'.repeat(40)}  x\n# SHA512 HASH\n${other}  y\n${right}  x\n`;
    expect(sha512InDigests(text, 'x')).toBe(right);
    expect(sha512InDigests(text.replace('SHA512', 'SHA3'), 'x')).toBeUndefined();
    expect(sha512InDigests('', 'x')).toBeUndefined();
  });

  it('SHA256SUMS: by file name, with either separator, or a hash alone', () => {
    const hash = 'A'.repeat(64);
    expect(sha256InSums(`${'b'.repeat(64)}  z\n${hash} *x\n`, 'x')).toBe('a'.repeat(64));
    expect(sha256InSums(`${hash}\n`, 'x')).toBe('a'.repeat(64));
    expect(sha256InSums(`${hash}  xx\n`, 'x')).toBeUndefined();
  });

  it('version.txt', () => {
    expect(versionInText('FLATCAR_BUILD=1\nFLATCAR_VERSION=4593.2.5\n')).toBe('4593.2.5');
    expect(versionInText('FLATCAR_VERSION=../../etc\n')).toBeUndefined();
  });
});

describe('how near an address is', () => {
  it.each<[string, Scope]>([
    ['93.184.216.34', 'public'],
    ['2606:2800:220:1::1', 'public'],
    ['10.1.2.3', 'private'],
    ['172.31.0.1', 'private'],
    ['172.32.0.1', 'public'],
    ['192.168.0.1', 'private'],
    ['100.64.0.1', 'private'],
    ['fd00::1', 'private'],
    ['127.0.0.1', 'loopback'],
    ['127.9.9.9', 'loopback'],
    ['0.0.0.0', 'loopback'],
    ['::1', 'loopback'],
    ['[::1]', 'loopback'],
    ['::', 'loopback'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['::ffff:7f00:1', 'loopback'],
    ['::ffff:a00:1', 'private'],
    ['169.254.169.254', 'link-local'],
    ['fe80::1%eth0', 'link-local'],
    ['224.0.0.1', 'link-local'],
    ['nonsense', 'link-local'],
  ])('%s is %s', (address, scope) => expect(scopeOf(address)).toBe(scope));

  it('nobody leads to what is nearer than himself', () => {
    expect(mayLeadTo('public', 'public')).toBe(true);
    expect(mayLeadTo('public', 'private')).toBe(false);
    expect(mayLeadTo('private', 'loopback')).toBe(false);
    expect(mayLeadTo('loopback', 'link-local')).toBe(false);
    expect(mayLeadTo('loopback', 'loopback')).toBe(true);
    expect(mayLeadTo('private', 'public')).toBe(true);
  });
});

it('URLs are shown without what may be secret', () => {
  expect(shownUrl('https://me:pw@mirror.example/a/b?sig=abc#x')).toBe('https://mirror.example/a/b');
});

describe('what is meant in a folder', () => {
  const name = 'flatcar/stable/amd64-usr/4593.2.5/image';
  const find = (files: string[], isOnly = true, versions: [string, string][] = []) =>
    findIn({ files, versions: new Map(versions) }, name, isOnly);

  it('is the file whose path agrees most', () => {
    expect(
      find(['image', 'x/4593.2.5/image', 'x/amd64-usr/4593.2.5/image', 'x/arm64-usr/4593.2.5/image']),
    ).toBe('x/amd64-usr/4593.2.5/image');
    expect(find(['4081.3.0/image'])).toBeUndefined();
  });

  it('is a file that lies anywhere, if its version is clear', () => {
    expect(find(['usb/image'])).toBe('usb/image');
    expect(find(['usb/image'], false)).toBeUndefined();
    expect(find(['usb/image'], false, [['usb', '4593.2.5']])).toBe('usb/image');
    expect(find(['usb/image'], true, [['usb', '4081.3.0']])).toBeUndefined();
  });
});

describe('what may be pruned', () => {
  const needed = { names: new Set(['flatcar/a/x']), folders: ['flatcar/live'] };
  it.each<[string, string, boolean]>([
    ['flatcar/a/x', 'https://m/x', false],
    ['flatcar/a/x.sig', 'https://m/x', false],
    ['flatcar/a/y', 'https://m/y', true],
    ['flatcar/live/x', 'https://m/x', false],
    ['flatcar/lively/x', 'https://m/x', true],
    ['sysext/k/k-1.raw', 'https://m/k', true],
    ['sysext/k/own.raw', 'sysext build', false],
    ['other/thing', 'https://m/k', false],
  ])('%s of %s: %s', (name, origin, expected) => expect(isStale({ name, origin }, needed)).toBe(expected));
});

it('a meter tells the speed of the last seconds, and when it will be over', () => {
  let now = 0;
  const meter = new Meter(() => now);
  expect(meter.eta(100)).toBeUndefined();
  for (; now <= 10_000; now += 100) meter.count(1000);
  expect(meter.rate).toBeGreaterThan(9000);
  expect(meter.rate).toBeLessThan(11_000);
  expect(meter.eta(100_000)).toBeGreaterThanOrEqual(9);
  now += 60_000;
  expect(meter.rate).toBe(0);
});
