import { expect, it } from 'vitest';
import { lab } from '../inventory/make.ts';
import { SERVER, valuesFor } from './make.ts';

const WITH_DISK = (disk: string) =>
  lab(`{name: n2, pool: workers, macs: [52:54:00:12:34:02], disk: ${disk}}`);

it('knows the host, its cluster, its system, and how the server is reached', () => {
  expect(valuesFor(lab())).toMatchObject({
    host: {
      name: 'n1',
      pool: 'control',
      role: 'control-plane',
      macs: ['52:54:00:12:34:01'],
      uuid: null,
      ip: null,
    },
    cluster: { name: 'lab', kubernetes: '1.36.4' },
    os: { os: 'flatcar', channel: 'stable', board: 'amd64-usr' },
    server: SERVER,
    isMember: true,
    isControlPlane: true,
    usesSysupdate: true,
    network: { isStatic: false, unit: '' },
    token: '<secret: token of this boot>',
  });
});

it('a worker is no control plane; a host without a cluster is no member and has none', () => {
  const text = lab('{name: n2, pool: workers, macs: [52:54:00:12:34:02]}');
  expect(valuesFor(text, { name: 'n2' })).toMatchObject({ isMember: true, isControlPlane: false });
  const alone = text.replace('{name: workers, cluster: lab, ', '{name: workers, ');
  expect(valuesFor(alone, { name: 'n2' })).toMatchObject({
    isMember: false,
    isControlPlane: false,
    cluster: null,
  });
});

it.each([
  ['a device', '/dev/disk/by-id/nvme-x', 'RAILHEAD_DISK=/dev/disk/by-id/nvme-x\n'],
  [
    'a selector, whose quotes stay quotes',
    `{serial: "a 'b' \\"c\\" $(d)", rotational: false}`,
    `RAILHEAD_DISK_SERIAL='a '\\''b'\\'' "c" $(d)'\nRAILHEAD_DISK_ROTATIONAL=0\n`,
  ],
  [
    'sizes, in megabytes, never rounded past them',
    '{minSizeGB: 0.0015, maxSizeGB: 1.9999}',
    'RAILHEAD_DISK_MIN_MB=2\nRAILHEAD_DISK_MAX_MB=1999\n',
  ],
])('what finds the disk: %s', (_what, disk, env) => {
  expect(valuesFor(WITH_DISK(disk), { name: 'n2' })).toMatchObject({
    env: { disk: `${env}RAILHEAD_DATA_WIPE=no\n` },
  });
});

it('only what a person has ordered empties a disk', () => {
  expect(valuesFor(lab(), { wipe: true })).toMatchObject({
    env: { disk: expect.stringContaining('RAILHEAD_DATA_WIPE=yes\n') },
  });
});

it('sysexts: without an image there is no URL and no hash, but the names are there', () => {
  const image = { file: 'k.raw', url: 'http://x/k.raw', sha256: 'ab' };
  const sysexts = [
    { name: 'kubernetes', version: 'v1.36.4', definition: 'd', image },
    { name: 'containerd', version: '2.1.5', definition: 'd', image: undefined },
  ];
  expect(valuesFor(lab(), { sysexts })).toMatchObject({
    sysexts: [
      { name: 'kubernetes', file: 'k.raw', url: 'http://x/k.raw', hash: 'sha256-ab' },
      { name: 'containerd', file: '', url: '', hash: '' },
    ],
    env: { sysexts: 'kubernetes v1.36.4\ncontainerd 2.1.5\n' },
  });
});
