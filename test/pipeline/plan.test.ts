import { describe, expect, it } from 'vitest';
import { parseDefaults, readDefaults } from '../../server/pipeline/defaults.ts';
import { type PlannedStep, planSteps, type ScriptState } from '../../server/pipeline/plan.ts';
import { inventoryOf, WITH_WORKER } from './make.ts';

const OK: ScriptState = { ok: true };

function planned(
  cluster: string,
  { hosts, script = () => OK }: { hosts?: string; script?: (name: string) => ScriptState } = {},
): PlannedStep[] {
  const inventory = inventoryOf(cluster, hosts);
  return planSteps({
    cluster: inventory.clusters[0]!,
    hosts: inventory.hosts,
    defaults: readDefaults(),
    inventoryDir: '/inventory',
    script,
  });
}

const step = (steps: PlannedStep[], name: string): PlannedStep => steps.find((one) => one.name === name)!;
const FULL = 'addons: [{name: cilium}, {name: cert-manager}, {name: argocd}]';

describe('the steps of a cluster', () => {
  it('are the built-in ones in their order, each with what it needs', () => {
    expect(planned(FULL).map(({ name, need }) => [name, need])).toEqual([
      ['untaint', 'api'],
      ['install-core:cilium', 'api'],
      ['install-core:cert-manager', 'node'],
      ['install-argo', 'node'],
      ['bootstrap-apps', 'node'],
    ]);
  });

  it('are given the versions and sources that the scripts know by themselves', () => {
    const steps = planned(FULL);
    expect(step(steps, 'install-core:cilium')).toMatchObject({
      args: ['cilium'],
      env: {
        CILIUM_REPOSITORY: 'https://helm.cilium.io',
        CILIUM_CHART: 'cilium',
        CILIUM_VERSION: '1.20.0',
        CILIUM_NAMESPACE: 'kube-system',
        POD_CIDRS: '10.244.0.0/16',
        SINGLE_NODE: '1',
        RAILHEAD_CLUSTER: 'lab',
      },
    });
    expect(step(steps, 'install-core:cert-manager').env).toMatchObject({
      CERT_MANAGER_REPOSITORY: 'oci://quay.io/jetstack/charts',
      CERT_MANAGER_VERSION: 'v1.21.1',
    });
  });

  it('are given what the inventory says in place of that', () => {
    const steps = planned(`endpoint: "[fd00::10]:443", podCidr: [10.9.0.0/16, fd01::/48], addons: [
      {name: gateway-api, path: crds.yaml},
      {name: cilium, version: 1.19.3, repository: "oci://registry.example/charts/", namespace: net, values: {a: 1}},
      {name: cert-manager, version: v1.20.0, path: charts/cert-manager, chart: cm}]`);
    expect(step(steps, 'install-core:cilium')).toMatchObject({
      args: ['gateway-api', 'cilium'],
      env: {
        CILIUM_REPOSITORY: 'oci://registry.example/charts',
        CILIUM_VERSION: '1.19.3',
        CILIUM_NAMESPACE: 'net',
        K8S_SERVICE_HOST: 'fd00::10',
        K8S_SERVICE_PORT: '443',
        POD_CIDRS: '10.9.0.0/16 fd01::/48',
        GATEWAY_API_PATH: '/inventory/crds.yaml',
      },
      files: { CILIUM_VALUES: { a: 1 } },
      paths: ['/inventory/crds.yaml'],
    });
    const certManager = step(steps, 'install-core:cert-manager');
    expect(certManager.env).toMatchObject({
      CERT_MANAGER_PATH: '/inventory/charts/cert-manager',
      CERT_MANAGER_VERSION: 'v1.20.0',
      CERT_MANAGER_CHART: 'cm',
    });
    expect(certManager.env).not.toHaveProperty('CERT_MANAGER_REPOSITORY');
  });

  it.each<[given: string, hosts: string | undefined, name: string, reason: RegExp | undefined]>([
    ['', undefined, 'untaint', undefined],
    ['', WITH_WORKER, 'untaint', /there are 1 workers/],
    ['pipeline: {untaint: always}', WITH_WORKER, 'untaint', undefined],
    ['pipeline: {untaint: never}', undefined, 'untaint', /says never/],
    ['', undefined, 'install-core:cilium', /cilium is not among the add-ons/],
    ['addons: [{name: argocd, enabled: false}]', undefined, 'install-argo', /argocd is not among/],
    [FULL, undefined, 'bootstrap-apps', /names no `pipeline.apps`/],
    ['pipeline: {apps: {repository: "https://git.example/x"}}', undefined, 'bootstrap-apps', undefined],
  ])('with {%s} and %s: %s', (given, hosts, name, reason) => {
    const { notNeeded } = step(planned(given, hosts === undefined ? {} : { hosts }), name);
    if (reason === undefined) expect(notNeeded).toBeUndefined();
    else expect(notNeeded).toMatch(reason);
  });

  it('of many nodes have a second operator from the beginning', () => {
    expect(step(planned(FULL, { hosts: WITH_WORKER }), 'install-core:cilium').env.SINGLE_NODE).toBe('0');
  });

  it('of a person stand where the person has put them', () => {
    const steps = planned(`pipeline: {steps: [{name: mine, when: api, timeoutSeconds: 5, attempts: 1,
      retrySeconds: 2, values: {x: 1}}, untaint]}`);
    expect(steps.map(({ name }) => name)).toEqual(['mine', 'untaint']);
    expect(steps[0]).toMatchObject({
      need: 'api',
      timeoutMs: 5000,
      attempts: 1,
      retryMs: 2000,
      files: { RAILHEAD_VALUES: { x: 1 } },
      env: { RAILHEAD_KUBERNETES: '1.36.4' },
    });
  });

  it('that are not there are refused, with what was most likely meant', () => {
    const script = (name: string): ScriptState =>
      name === 'untaint' ? OK : { ok: false, fault: `there is no step "${name}"`, known: ['my-backup'] };
    const steps = planned('pipeline: {steps: [untaint, my-backupp, instal-argo]}', { script });
    expect(steps.map(({ invalid }) => invalid)).toEqual([
      undefined,
      'there is no step "my-backupp"; did you mean "my-backup"?',
      'there is no step "instal-argo"; did you mean "install-argo"?',
    ]);
  });
});

it('reads only assignments', () => {
  expect(parseDefaults('# A=1\nB=2=3\n\nc=4\n D=5\nE=')).toEqual({ B: '2=3', E: '' });
});
