import { describe, expect, it } from 'vitest';
import { parseUris, releaseOrder } from '../../scripts/lib/bootloaders/apt.mjs';
import {
  debianMirror,
  debianSource,
  firstError,
  minimalStatus,
  parseReleases,
} from '../../scripts/lib/debian.mjs';

const TARGETS = `Packages|Debian|main|bookworm|oldstable|http://mirror.example/debian/
DEP-11|Debian|main|bookworm|oldstable|http://mirror.example/debian/
Packages|Debian|main|bookworm-updates|oldstable-updates|http://mirror.example/debian/
Packages|Debian|main|bookworm-security|oldstable-security|http://security.example/debian-security/
Packages|Somebody|stable|jammy|jammy|http://other.example/
`;

const debian = (codename: string, suite: string) => ({
  origin: 'Debian',
  component: 'main',
  codename,
  suite,
  uri: 'http://mirror.example/debian/',
});

describe("this machine's Debian mirror", () => {
  it('is the one that has the release itself, not its updates', () => {
    const releases = parseReleases(TARGETS);
    expect(releases).toHaveLength(4);
    expect(debianMirror(releases)).toEqual(debian('bookworm', 'oldstable'));
  });

  it('is none on a machine without lists, and on another distribution', () => {
    expect(debianMirror(parseReleases(''))).toBeUndefined();
    const ubuntu = 'Packages|Ubuntu|main|noble|noble|http://archive.example/ubuntu/';
    expect(debianMirror(parseReleases(ubuntu))).toBeUndefined();
  });

  it('makes a line for sources.list', () => {
    const line = debianSource({ uri: 'http://m.example/debian/', suite: 'testing', arch: 'arm64' });
    expect(line).toMatch(/^deb \[(signed-by=\S+ )?arch=arm64\] http:\/\/m\.example\/debian\/ testing main$/);
  });
});

describe('which releases are tried', () => {
  it.each([
    ['oldstable', [debian('bookworm', 'oldstable')], ['testing', 'stable', 'bookworm-backports', 'own']],
    ['stable', [debian('trixie', 'stable')], ['testing', 'trixie-backports', 'own']],
    [
      'stable with backports',
      [debian('trixie', 'stable'), debian('trixie-backports', 'stable-backports')],
      ['testing', 'own'],
    ],
    ['testing', [debian('forky', 'testing')], ['own']],
    ['unstable', [debian('sid', 'unstable')], ['own']],
    ['no Debian', [{ ...debian('noble', 'noble'), origin: 'Ubuntu' }], ['own']],
    ['nothing known', [], ['own']],
  ])('for the newest, on %s', (_, releases, order) => {
    expect(releaseOrder('newest', releases)).toEqual(order);
  });

  it('for what should fit the machine, its own first', () => {
    expect(releaseOrder('own', [debian('bookworm', 'oldstable')])).toEqual(['own', 'stable']);
    expect(releaseOrder('own', [debian('trixie', 'stable')])).toEqual(['own']);
  });
});

describe('what apt-get says', () => {
  it('about packages to download', () => {
    const text = `'http://m.example/pool/pxelinux_6.04%7egit_all.deb' pxelinux_3%3a6.04~git_all.deb 156016 SHA256:ef25
'http://m.example/pool/shim-signed_1.51_arm64.deb' shim-signed_1.51_arm64.deb 350384 SHA256:c2ac
W: something else
`;
    expect(parseUris(text)).toEqual([
      {
        name: 'pxelinux',
        version: '3:6.04~git',
        arch: 'all',
        file: 'pxelinux_3%3a6.04~git_all.deb',
        size: 156016,
      },
      {
        name: 'shim-signed',
        version: '1.51',
        arch: 'arm64',
        file: 'shim-signed_1.51_arm64.deb',
        size: 350384,
      },
    ]);
  });

  it.each([
    ['E: Unable to locate package ipxe\n', 'Unable to locate package ipxe'],
    [
      // The error only follows from the warning.
      "W: Failed to fetch http://m.example/InRelease  Temporary failure resolving 'm.example'\nE: The repository has no Release file.\n",
      "Temporary failure resolving 'm.example'",
    ],
    ['', 'no reason given'],
  ])('when it fails: %j', (text, reason) => {
    expect(firstError(text)).toBe(reason);
  });
});

it('cuts dpkg’s record down to what every Debian has', () => {
  const status = `Package: dash
Status: install ok installed
Essential: yes
Depends: libc6 (>= 2.36) | libc

Package: libc6
Status: install ok installed
Priority: optional

Package: vim
Status: install ok installed
Priority: optional

Package: gone
Status: deinstall ok config-files
Priority: required

`;
  expect([...minimalStatus(status).matchAll(/^Package: (.*)$/gm)].map(([, name]) => name)).toEqual([
    'dash',
    'libc6',
  ]);
});
