import { expect, it } from 'vitest';
import type { ImageId } from '../../server/feed/image-name.ts';
import { sysextsOfHost } from '../../server/ignition/host-sysexts.ts';
import { hostOf, lab } from '../inventory/make.ts';

const LOOK_UP = { baseUrl: 'http://10.0.0.5:8080', find: async () => ({ file: 'x', sha256: 'ab' }) };
const BY_IGNITION = lab().replace('os: flatcar', 'os: flatcar, sysexts: ignition');

it('a member has what its cluster runs, named as the sysext bakery names it', async () => {
  const sysexts = await sysextsOfHost(hostOf(lab(), 'n1'), LOOK_UP);
  expect(sysexts).toMatchObject([
    { name: 'kubernetes', version: 'v1.36.4', image: undefined },
    { name: 'containerd', version: '2.1.5', image: undefined },
  ]);
  expect(sysexts[0]!.definition).toContain('Path=http://10.0.0.5:8080/sysext/c/lab/kubernetes/\n');
  expect(sysexts[0]!.definition).toContain('Verify=yes\n');
});

it('as files: with URL and hash, for the architecture of the host; what is not there has no image', async () => {
  const asked: ImageId[] = [];
  const find = async (id: ImageId) => {
    asked.push(id);
    return id.name === 'kubernetes' ? { file: 'stored-name', sha256: 'ab' } : undefined;
  };
  const host = hostOf(BY_IGNITION.replace('os: flatcar', 'os: flatcar, arch: arm64'), 'n1');
  expect(await sysextsOfHost(host, { ...LOOK_UP, find })).toMatchObject([
    {
      image: {
        sha256: 'ab',
        url: 'http://10.0.0.5:8080/sysext/c/lab/kubernetes/kubernetes-v1.36.4-arm64.raw',
      },
    },
    { image: undefined },
  ]);
  expect(asked.map(({ arch }) => arch)).toEqual(['arm64', 'arm64']);
});

it('who is no member has none; a cluster without a containerd of its own keeps the one of the system', async () => {
  const alone = lab().replace('name: control, cluster: lab, role: control-plane', 'name: control');
  expect(await sysextsOfHost(hostOf(alone, 'n1'), LOOK_UP)).toEqual([]);
  const without = hostOf(lab().replace(', containerd: 2.1.5', ''), 'n1');
  expect((await sysextsOfHost(without, LOOK_UP)).map(({ name }) => name)).toEqual(['kubernetes']);
});
