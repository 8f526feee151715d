import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ClusterDescription } from '../../server/cluster/describe.ts';
import { RegisteredAgent } from '../support/agent.ts';
import { newSite, railhead, startAppliance } from '../support/appliance.ts';
import { giveImage } from '../support/booting.ts';

/** What a cluster can't be made of is refused before anything is done with it. */
const lab = (more: string, ip = '10.0.0.11'): string => `clusters:
  - name: lab
    kubernetes: 1.36.4
    endpoint: api.example.org:6443
${more}
profiles: [{name: flatcar, os: flatcar}]
pools: [{name: control, cluster: lab, role: control-plane, profile: flatcar}]
hosts:
  - {name: n1, pool: control, macs: ["52:54:00:12:34:01"], ip: ${ip}}
`;

describe('railhead check', () => {
  it.each<[what: string, yaml: string, said: RegExp]>([
    [
      'a version that kubeadm has no format for',
      lab('').replace('1.36.4', '1.21.14'),
      /example\.yaml:3:17: .*Kubernetes 1\.21\.14 is too old; the oldest that Railhead can set up is 1\.22\.0/,
    ],
    [
      'a version that does not exist',
      lab('').replace('1.36.4', '2.0.0'),
      /example\.yaml:3:17: .*Kubernetes 2\.0\.0 does not exist/,
    ],
    [
      'a pod network with a host inside',
      lab('    podCidr: 10.0.0.0/16'),
      /example\.yaml:9:\d+: .*its address 10\.0\.0\.11 lies inside the `podCidr` 10\.0\.0\.0\/16/,
    ],
    [
      'an endpoint among the pods',
      lab('    podCidr: 10.9.0.0/16').replace('api.example.org', '10.9.0.1'),
      /example\.yaml:4:15: .*10\.9\.0\.1 lies inside `podCidr` 10\.9\.0\.0\/16/,
    ],
    [
      'a chart from two places',
      lab('    addons: [{name: cilium, path: x, repository: "https://charts.example.org"}]'),
      /example\.yaml:5:14: .*either `path` or `repository`/,
    ],
  ])('refuses %s, with the place', async (_what, yaml, said) => {
    const site = await newSite();
    await writeFile(join(site.inventory, 'example.yaml'), yaml);
    const { code, stdout, stderr } = await railhead(['check', site.inventory], { cwd: site.dir });
    expect(`${stdout}${stderr}`).toMatch(said);
    expect(code).toBe(1);
  });
});

it('a key that does not fit the database: it is told at once, nobody begins, nobody gets in', async () => {
  const site = await newSite();
  await giveImage(site);
  const first = await startAppliance(site);
  // Makes the secrets of the cluster.
  expect(await (await RegisteredAgent.boot(first, '52:54:00:12:34:02')).kubeadm()).toMatchObject({
    status: 503,
  });
  expect((await first.ask('/clusters/lab')).body).toMatch(/cluster CA<\/dt><dd>until 20\d\d-\d\d-\d\d/);
  await first.stop();
  await writeFile(first.dataPath('keys', 'vault.key'), `${randomBytes(32).toString('base64')}\n`);

  const second = await startAppliance(site);
  expect(JSON.stringify(await second.readyz())).toContain('secrets of cluster lab');
  expect((await second.ask('/')).body).toContain('secrets of cluster lab');
  expect((await second.ask('/clusters/lab')).body).toContain('can&#x27;t be unsealed');
  const refused = await second.cli('kubeconfig', 'lab');
  expect(refused.code).not.toBe(0);
  expect(refused).toMatchObject({ stdout: '', stderr: expect.stringContaining("can't be unsealed") });
  expect((await second.json<ClusterDescription>('/api/v1/clusters/lab')).init).toBeNull();
});
