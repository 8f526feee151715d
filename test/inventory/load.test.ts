import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { formatProblem } from '../../server/document/problem.ts';
import { loadInventoryFolder } from '../../server/inventory/load.ts';
import { BASE, hostOf, inventoryOf, lab, load, problemsOf } from './make.ts';

const EXAMPLE = fileURLToPath(new URL('../../inventory', import.meta.url));

describe('the example inventory', () => {
  it('is right as it is', async () => {
    const { inventory, problems } = await loadInventoryFolder(EXAMPLE, 'inventory');
    expect(problems.map(formatProblem)).toEqual([]);
    expect(
      inventory!.hosts.map(({ name, role, member, cluster }) => ({ name, role, member, cluster })),
    ).toEqual([
      { name: 'n1', role: 'control-plane', member: true, cluster: 'lab' },
      { name: 'n2', role: 'worker', member: true, cluster: 'lab' },
      { name: 'n3', role: 'worker', member: true, cluster: 'lab' },
    ]);
  });

  it('works out to everything that holds for a host', async () => {
    const { inventory } = await loadInventoryFolder(EXAMPLE, 'inventory');
    expect(inventory!.hosts[1]).toEqual({
      name: 'n2',
      pool: 'workers',
      profile: 'flatcar',
      cluster: 'lab',
      role: 'worker',
      member: true,
      os: {
        os: 'flatcar',
        channel: 'stable',
        version: '4593.2.5',
        arch: 'amd64',
        install: 'ram',
        sysexts: 'sysupdate',
      },
      templates: {},
      kubernetes: '1.36.4',
      containerd: '2.1.5',
      macs: ['52:54:00:12:34:02'],
      network: {},
      identity: 'boot',
      localBoot: 'auto',
      labels: { 'node.kubernetes.io/pool': 'workers' },
      taints: [],
      variables: {},
      kernelArguments: ['console=tty0', 'console=ttyS0'],
      sshKeys: [],
      snippets: [],
    });
    expect(inventory!.clusters).toEqual([
      {
        name: 'lab',
        kubernetes: '1.36.4',
        containerd: '2.1.5',
        podCidrs: ['10.244.0.0/16'],
        serviceCidrs: ['10.96.0.0/12'],
        addons: [{ name: 'cilium' }, { name: 'cert-manager' }, { name: 'argocd' }],
        rollout: {
          strategy: 'PreferInPlace',
          maxUnavailable: 1,
          maxFailures: 1,
          drainTimeoutSeconds: 600,
          allowDowntime: false,
          paused: false,
        },
      },
    ]);
  });
});

describe('loading', () => {
  it('takes the whole or nothing', () => {
    expect(load(lab()).inventory).toBeDefined();
    expect(load(lab('{name: n2, pool: nowhere, serial: X}')).inventory).toBeUndefined();
  });

  it('takes an inventory with warnings, and tells them', () => {
    const { inventory, problems } = load(
      lab('{name: n2, pool: workers, macs: [52:54:00:12:34:02], disk: /dev/sda}'),
    );
    expect(inventory!.hosts).toHaveLength(2);
    expect(problems.map(({ severity }) => severity)).toEqual(['warning']);
  });

  it('makes one of every spelling', () => {
    const text = `
clusters: [{name: lab, kubernetes: v1.36.4, containerd: v2.1.5, podCidr: [FD00:0::/48, 10.9.0.0/16], serviceCidr: [10.96.0.0/12, fd01::/108], addons: [{name: cilium, version: v1.18.0}]}]
profiles: [{name: flatcar, os: flatcar}]
pools: [{name: control, cluster: lab, role: control-plane, profile: flatcar}]
hosts:
  - name: n1
    pool: control
    macs: [5254.0012.34AB, 52-54-00-12-34-CD, 001122334455]
    uuid: 4C4C4544004235108052B4C04F384332
    serial: 0042
    ip: FD02:0:0::0011
`;
    expect(hostOf(text, 'n1')).toMatchObject({
      macs: ['52:54:00:12:34:ab', '52:54:00:12:34:cd', '00:11:22:33:44:55'],
      uuid: '4c4c4544-0042-3510-8052-b4c04f384332',
      serial: '0042',
      ip: 'fd02::11',
      kubernetes: '1.36.4',
      containerd: '2.1.5',
    });
    expect(inventoryOf(text).clusters[0]).toMatchObject({
      podCidrs: ['fd00::/48', '10.9.0.0/16'],
      serviceCidrs: ['10.96.0.0/12', 'fd01::/108'],
      addons: [{ name: 'cilium', version: '1.18.0' }],
    });
  });

  it('says everything at once, file by file and from top to bottom', () => {
    const problems = problemsOf({
      'a.yaml': `${BASE}hosts:\n  - {name: n1, pool: control, macs: [x], ip: y, uuid: z, dsk: w}\n  - {name: n2, pool: nowhere}\n`,
      'b.yaml': 'hosts: [',
      'c.yaml': 'profiles: [{name: old, os: ubuntu}]',
    });
    expect(problems.map((line) => line.split(': ').slice(0, 2).join(': '))).toEqual([
      'a.yaml:8:38: error',
      'a.yaml:8:46: error',
      'a.yaml:8:55: error',
      'a.yaml:8:58: error',
      'a.yaml:9:5: error',
      'b.yaml:1:9: error',
      'c.yaml:1:28: error',
    ]);
  });

  it('blames nobody for what stands in a file that can not be read', () => {
    const problems = problemsOf({
      'hosts.yaml': 'hosts: [{name: n1, pool: workers, serial: X}]',
      'pools.yaml': 'pools: [',
    });
    expect(problems).toHaveLength(1);
  });

  it('blames nobody for referring to an item that was refused', () => {
    const text = 'pools: [{name: workers, profil: flatcar}]\nhosts: [{name: n1, pool: workers, serial: X}]\n';
    expect(problemsOf(text).filter((line) => line.includes('unknown pool'))).toEqual([]);
    expect(problemsOf(text)).toHaveLength(2);
  });

  it('gives no advice about the whole while parts of it are missing', () => {
    expect(problemsOf(lab().replace('pool: control,', 'pool: contorl,'))).toEqual([
      'f.yaml:8:22: error: host "n1": unknown pool "contorl"; did you mean "control"?',
    ]);
  });

  it('never shows a secret that was written in plain text', () => {
    const secrets = ['hunter2', 'correct-horse', 'calvin'];
    const problems = problemsOf(
      lab(
        `{name: n2, pool: workers, serial: A, bmc: {address: x, password: ${secrets[0]}}}`,
        `{name: n3, pool: workers, serial: B, variables: {token: ${secrets[1]}}}`,
        `{name: n4, pool: workers, serial: C, bmc: {address: x, pass: ${secrets[2]}}}`,
      ),
    );
    expect(problems).toHaveLength(3);
    for (const secret of secrets) expect(problems.join('\n')).not.toContain(secret);
  });
});
