import { describe, expect, it } from 'vitest';
import { compareNames } from '../../server/inventory/compose.ts';
import { BASE, hostOf, inventoryOf, lab } from './make.ts';

const LAYERED = `
clusters:
  - name: lab
    kubernetes: 1.36.4
    variables: {a: cluster, b: cluster, c: cluster, d: cluster, list: [cluster]}
    kernelArguments: [cluster=1]
    snippets: [cluster.yaml]
profiles:
  - name: flatcar
    os: flatcar
    variables: {b: profile, c: profile, d: profile}
    kernelArguments: [profile=1, profile=2]
    snippets: [profile.yaml]
pools:
  - name: control
    cluster: lab
    role: control-plane
    profile: flatcar
    variables: {c: pool, d: pool, list: [pool]}
    kernelArguments: [pool=1]
    snippets: [pool.yaml]
hosts:
  - name: n1
    pool: control
    serial: X
    variables: {d: host, __proto__: mine}
    kernelArguments: [host=1]
    snippets: [host.yaml]
`;

describe('layers', () => {
  it('give variables by name: cluster < profile < pool < host', () => {
    const { variables } = hostOf(LAYERED, 'n1');
    // As text, because __proto__ is no ordinary key to an object literal.
    expect(JSON.stringify(variables)).toBe(
      '{"a":"cluster","b":"profile","c":"pool","d":"host","list":["pool"],"__proto__":"mine"}',
    );
  });

  it('add up kernel arguments and snippets in the same order', () => {
    expect(hostOf(LAYERED, 'n1')).toMatchObject({
      kernelArguments: ['cluster=1', 'profile=1', 'profile=2', 'pool=1', 'host=1'],
      snippets: ['cluster.yaml', 'profile.yaml', 'pool.yaml', 'host.yaml'],
    });
  });

  it('skip the cluster where a pool has none', () => {
    const host = hostOf(LAYERED.replace('cluster: lab\n    role: control-plane', 'role: worker'), 'n1');
    expect(host.kernelArguments).toEqual(['profile=1', 'profile=2', 'pool=1', 'host=1']);
    expect(host.variables).toMatchObject({ b: 'profile', c: 'pool', d: 'host' });
    expect(host).not.toHaveProperty('cluster');
    expect(host).not.toHaveProperty('kubernetes');
  });

  it('give a rollout policy: the pool over the cluster over the default', () => {
    const text = `
clusters: [{name: lab, kubernetes: 1.36.4, rollout: {maxUnavailable: 25%, maxFailures: 3}}]
profiles: [{name: flatcar, os: flatcar}]
pools:
  - {name: control, cluster: lab, role: control-plane, profile: flatcar, rollout: {maxUnavailable: 1, paused: true}}
  - {name: spare, profile: flatcar}
`;
    const { pools } = inventoryOf(text);
    expect(pools.map(({ rollout }) => rollout)).toEqual([
      {
        strategy: 'PreferInPlace',
        maxUnavailable: 1,
        maxFailures: 3,
        drainTimeoutSeconds: 600,
        allowDowntime: false,
        paused: true,
      },
      {
        strategy: 'PreferInPlace',
        maxUnavailable: 1,
        maxFailures: 1,
        drainTimeoutSeconds: 600,
        allowDowntime: false,
        paused: false,
      },
    ]);
  });
});

describe('defaults', () => {
  it('are filled in', () => {
    const text = `profiles: [{name: p, os: flatcar}]\npools: [{name: w, profile: p}]\nhosts: [{name: n1, pool: w, serial: X}]`;
    expect(inventoryOf(text)).toEqual({
      clusters: [],
      profiles: [
        {
          name: 'p',
          os: 'flatcar',
          channel: 'stable',
          version: 'current',
          arch: 'amd64',
          install: 'ram',
          sysexts: 'sysupdate',
          templates: {},
        },
      ],
      pools: [
        {
          name: 'w',
          profile: 'p',
          role: 'worker',
          labels: {},
          taints: [],
          rollout: {
            strategy: 'PreferInPlace',
            maxUnavailable: 1,
            maxFailures: 1,
            drainTimeoutSeconds: 600,
            allowDowntime: false,
            paused: false,
          },
          updatesDisabled: false,
        },
      ],
      hosts: [
        {
          name: 'n1',
          pool: 'w',
          profile: 'p',
          role: 'worker',
          member: false,
          os: {
            os: 'flatcar',
            channel: 'stable',
            version: 'current',
            arch: 'amd64',
            install: 'ram',
            sysexts: 'sysupdate',
          },
          templates: {},
          macs: [],
          serial: 'X',
          network: {},
          identity: 'kept',
          localBoot: 'auto',
          labels: {},
          taints: [],
          variables: {},
          kernelArguments: [],
          sshKeys: [],
          snippets: [],
        },
      ],
    });
  });

  it('of the networks are those of kubeadm and flannel', () => {
    expect(inventoryOf(lab()).clusters[0]).toMatchObject({
      podCidrs: ['10.244.0.0/16'],
      serviceCidrs: ['10.96.0.0/12'],
    });
  });

  it('do not replace what is given', () => {
    const host = hostOf(
      lab(
        '{name: n2, pool: workers, serial: X, localBoot: sanboot, bmc: {address: 10.0.1.2, password: {fromEnv: BMC}}}',
      ),
      'n2',
    );
    expect(host).toMatchObject({
      localBoot: 'sanboot',
      bmc: { address: '10.0.1.2', password: { fromEnv: 'BMC' } },
    });
  });
});

describe('replicas', () => {
  const hosts = ['n10', 'n9', 'n2', 'n1', 'n100'].map(
    (name) => `  - {name: ${name}, pool: workers, serial: ${name}}`,
  );
  const members = (replicas: string): string[] => {
    const text = `${BASE.replace('{name: workers,', `{name: workers, ${replicas}`)}hosts:\n${hosts.join('\n')}\n`;
    return inventoryOf(text)
      .hosts.filter(({ member }) => member)
      .map(({ name }) => name);
  };

  it.each([
    { replicas: 'replicas: 3,', expected: ['n1', 'n2', 'n9'] },
    { replicas: 'replicas: 4,', expected: ['n1', 'n2', 'n9', 'n10'] },
    { replicas: 'replicas: 0,', expected: [] },
    { replicas: 'replicas: 99,', expected: ['n1', 'n2', 'n9', 'n10', 'n100'] },
    { replicas: '', expected: ['n1', 'n2', 'n9', 'n10', 'n100'] },
  ])('make members of the first hosts as people count: "$replicas"', ({ replicas, expected }) => {
    expect(members(replicas)).toEqual(expected);
  });

  it('make no member without a cluster', () => {
    const text = `profiles: [{name: p, os: flatcar}]\npools: [{name: w, profile: p, replicas: 1}]\nhosts: [{name: n1, pool: w, serial: X}]`;
    expect(hostOf(text, 'n1').member).toBe(false);
  });
});

describe('the order of names', () => {
  it.each([
    ['n2', 'n10'],
    ['n9', 'n10'],
    ['rack1-n10', 'rack2-n1'],
    ['rack2-n1', 'rack10-n1'],
    ['a', 'b'],
    ['n', 'n1'],
    ['n1', 'n1.example.org'],
  ])('is %s before %s', (first, second) => {
    expect(compareNames(first, second)).toBeLessThan(0);
    expect(compareNames(second, first)).toBeGreaterThan(0);
  });

  it('is never left to chance: n01 and n1 are two names', () => {
    expect(compareNames('n01', 'n1')).toBeLessThan(0);
    expect(compareNames('n1', 'n01')).toBeGreaterThan(0);
    expect(compareNames('n1', 'n1')).toBe(0);
  });

  it('is that of the inventory, whatever the order of files and lines', () => {
    const names = inventoryOf(
      lab('{name: n10, pool: workers, serial: A}', '{name: n2, pool: workers, serial: B}'),
    );
    expect(names.hosts.map(({ name }) => name)).toEqual(['n1', 'n2', 'n10']);
  });
});
