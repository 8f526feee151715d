import { expect, it } from 'vitest';
import { FeedKey } from '../../../server/feed/signing-key.ts';
import { compareVersions } from '../../../server/feed/version-order.ts';
import { SysupdateHost, systemdTrees } from '../../support/sysupdate-host.ts';
import { tempFolder } from '../../support/temp.ts';

const trees = await systemdTrees();

const VERSIONS = [
  '1.9',
  '1.10',
  '1.32.1',
  '1.32.10',
  '1.32.9',
  '1.33.0',
  '1.33.0-rc.1',
  '1.33.0~rc.1',
  '1.33.1+k3s1',
];
const ODD = [
  '123',
  '123-a',
  '123-1',
  '123^post1',
  '123.a-1',
  '123.1-1',
  '123a-1',
  '0',
  '00123',
  '1_2',
  '1,2',
  '1..2',
];

it.each(trees.slice(-1))('systemd $version puts versions in the same order', async (tree) => {
  const host = await SysupdateHost.create(tree);
  const all = [...VERSIONS, ...ODD];
  const pairs = all.flatMap((a, index) => all.slice(index + 1).map((b) => [a, b] as const));
  const script =
    'while [ $# -gt 0 ]; do inside systemd-analyze compare-versions "$1" "$2" || true; shift 2; done';
  const { stdout, stderr } = await host.script(script, ...pairs.flat());
  const signs = { '-1': '<', 0: '==', 1: '>' };
  const ours = pairs.map(([a, b]) => `${a} ${signs[compareVersions(a, b)]} ${b}`);
  expect(stdout.trim().split('\n'), stderr).toEqual(ours);
});

it.each(trees)(
  'gpg beside systemd $version accepts the signature, also with a clock of 2020',
  async (tree) => {
    const key = new FeedKey(await tempFolder());
    await key.start();
    const sums = Buffer.from('sums\n');
    const host = await SysupdateHost.create(tree);
    await host.write('/etc/systemd/import-pubring.gpg', await key.publicKeyring());
    await host.write('/var/tmp/SHA256SUMS', sums);
    await host.write('/var/tmp/SHA256SUMS.gpg', await key.sign(sums, Date.now()));
    const keyring = [
      '--no-default-keyring',
      '--keyring',
      '/etc/systemd/import-pubring.gpg',
      '--trust-model',
      'always',
    ];
    const files = ['--verify', '/var/tmp/SHA256SUMS.gpg', '/var/tmp/SHA256SUMS'];
    for (const clock of [[], ['--faked-system-time', '20200201T000000']]) {
      const { code, stderr } = await host.run(
        'gpg',
        '--homedir',
        '/var/tmp',
        '--batch',
        ...clock,
        ...keyring,
        ...files,
      );
      expect([code, stderr]).toEqual([0, expect.stringContaining('Good signature')]);
      expect(stderr).toContain(await key.fingerprint());
    }
  },
);
