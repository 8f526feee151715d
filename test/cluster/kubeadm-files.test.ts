import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { load, loadAll } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { endpointOf } from '../../server/cluster/endpoint.ts';
import { kubeadmFiles } from '../../server/cluster/kubeadm-files.ts';
import { mayLabelItself } from '../../server/cluster/kubeadm-values.ts';
import { previewKubeadm } from '../../server/cluster/preview.ts';
import type { Inventory } from '../../server/inventory/model.ts';
import { TemplateFolders, templateFolders } from '../../server/templating/template-folders.ts';
import { ROOT } from '../support/appliance.ts';
import { tempFolder } from '../support/temp.ts';
import { exampleInventory, problemsOf } from './inventory.ts';

const pair = (name: string) => ({ certificate: `${name} certificate`, key: `${name} key` });
const pki = { ca: pair('ca'), etcdCa: pair('etcd'), frontProxyCa: pair('front'), serviceAccount: pair('sa') };
const builtIn = templateFolders(join(ROOT, 'templates'));

function filesFor(inventory: Inventory, name: string, action: 'init' | 'join', folders = builtIn) {
  const host = inventory.hosts.find((one) => one.name === name)!;
  const [cluster] = inventory.clusters;
  const { config, files } = kubeadmFiles(new TemplateFolders({ now: Date.now, folders }).current().set, {
    action,
    host,
    cluster: cluster!,
    hosts: inventory.hosts,
    endpoint: endpointOf(cluster!, inventory.hosts, undefined)!,
    caHash: 'sha256:0',
    pki,
    variables: {},
    resume: false,
    secrets: { encryptionKey: 'KEY', bootstrapToken: 'abcdef.0123456789abcdef', bootstrapTokens: [] },
  });
  return {
    documents: loadAll(config) as Record<string, never>[],
    paths: files.map(({ path }) => path),
    file: (path: string) => files.find((one) => one.path === path)?.content ?? '',
  };
}

describe('what kubeadm is given', () => {
  it('a worker gets one document and no key of anything', async () => {
    const { documents, paths } = filesFor(await exampleInventory(), 'w1', 'join');
    expect(paths).toEqual([]);
    expect(documents).toMatchObject([
      {
        apiVersion: 'kubeadm.k8s.io/v1beta4',
        kind: 'JoinConfiguration',
        discovery: {
          bootstrapToken: { apiServerEndpoint: '10.0.0.10:6443', caCertHashes: ['sha256:0'] },
        },
        nodeRegistration: {
          name: 'w1',
          taints: [{ key: 'gpu', effect: 'NoSchedule' }],
          // A kubelet that gave itself the other label would not start.
          kubeletExtraArgs: [
            { name: 'node-ip', value: '10.0.0.21' },
            { name: 'node-labels', value: 'rack=a' },
          ],
        },
      },
    ]);
    expect(documents[0]).not.toHaveProperty('controlPlane');
  });

  it('the CA is always pinned', async () => {
    for (const name of ['c2', 'w1']) {
      const text = JSON.stringify(filesFor(await exampleInventory(), name, 'join').documents);
      expect(text).not.toContain('unsafeSkipCAVerification');
      expect(text).toContain('"caCertHashes":["sha256:0"]');
    }
  });

  it('before 1.31 it is v1beta3: flags are a mapping, kube-proxy is skipped by a phase', async () => {
    const inventory = await exampleInventory('endpoint: 10.0.0.10\naddons: [{name: cilium}]');
    inventory.clusters[0]!.kubernetes = '1.30.4';
    const { documents } = filesFor(inventory, 'c1', 'init');
    const [init, cluster] = documents as unknown as [
      Record<string, unknown>,
      { apiServer: { extraArgs: unknown } },
    ];
    expect(init).toMatchObject({ apiVersion: 'kubeadm.k8s.io/v1beta3', skipPhases: ['addon/kube-proxy'] });
    expect(cluster.apiServer.extraArgs).toEqual({
      'encryption-provider-config': '/etc/kubernetes/railhead/encryption.yaml',
    });
    expect(cluster).not.toHaveProperty('proxy');
    expect(cluster).not.toHaveProperty('encryptionAlgorithm');
  });

  it('kube-vip bears the endpoint: with the rights of the moment on the first host, with fewer afterwards', async () => {
    const inventory = await exampleInventory('endpoint: 10.0.0.10:8443\nkubeVip: {interface: eno1}');
    const first = filesFor(inventory, 'c1', 'init');
    const volumeOf = (text: string) =>
      (load(text) as { spec: { volumes: [{ hostPath: { path: string } }] } }).spec.volumes[0].hostPath.path;
    expect(volumeOf(first.file('manifests/kube-vip.yaml'))).toBe('/etc/kubernetes/super-admin.conf');
    expect(volumeOf(first.file('after/manifests/kube-vip.yaml'))).toBe('/etc/kubernetes/admin.conf');
    expect(first.documents[0]).toMatchObject({ localAPIEndpoint: { bindPort: 8443 } });
    const second = filesFor(inventory, 'c2', 'join');
    expect(volumeOf(second.file('manifests/kube-vip.yaml'))).toBe('/etc/kubernetes/admin.conf');
    expect(second.paths).not.toContain('after/manifests/kube-vip.yaml');
    expect(filesFor(inventory, 'w1', 'join').paths).toEqual([]);
  });

  it('the endpoint is always among the names of the API server', async () => {
    for (const [endpoint, name] of [
      ['api.example.org', 'api.example.org'],
      ['"[fd00::10]:6443"', 'fd00::10'],
    ] as const) {
      const inventory = await exampleInventory(`endpoint: ${endpoint}`);
      expect(filesFor(inventory, 'c1', 'init').documents[1]).toMatchObject({
        apiServer: { certSANs: expect.arrayContaining([name, 'c1', 'c2', 'c3', '10.0.0.13']) },
      });
    }
  });

  it("a person's own template takes the place of ours, for all or for a profile", async () => {
    const own = await tempFolder();
    await mkdir(join(own, 'kubeadm'));
    await writeFile(join(own, 'kubeadm/join.yaml'), 'kind: Mine\nname: "{{host.name}}"\n');
    await writeFile(join(own, 'kubeadm/gpu.join.yaml'), 'kind: ForGpus\n');
    const folders = [...builtIn, { dir: own, shownAs: 'own' }];
    const inventory = await exampleInventory();
    expect(filesFor(inventory, 'w1', 'join', folders).documents).toEqual([{ kind: 'Mine', name: 'w1' }]);
    inventory.hosts.find(({ name }) => name === 'w1')!.templates = { kubeadm: 'gpu' };
    expect(filesFor(inventory, 'w1', 'join', folders).documents).toEqual([{ kind: 'ForGpus' }]);
    await writeFile(join(own, 'kubeadm/join.yaml'), 'kind: {{nonsense}}\n');
    expect(() => filesFor(inventory, 'w2', 'join', folders)).toThrow(
      /own\/kubeadm\/join.yaml:1:\d+.*nonsense/,
    );
  });

  it('a preview has every file and no secret', async () => {
    const inventory = await exampleInventory('endpoint: 10.0.0.10\nkubeVip: {}');
    const set = new TemplateFolders({ now: Date.now, folders: builtIn }).current().set;
    const text = (name: string) =>
      previewKubeadm({
        host: inventory.hosts.find((one) => one.name === name)!,
        cluster: inventory.clusters.find((one) => one.name === 'lab' && name !== 's1'),
        hosts: inventory.hosts,
        claim: undefined,
        certificate: undefined,
        templates: set,
      });
    expect(text('c1')).toContain('# kubeadm init');
    expect(text('c1')).toContain('<secret: key of cluster CA>');
    expect(text('c1')).toContain('<secret: encryption key>');
    expect(text('w1')).toContain('# kubeadm join');
    expect(text('s1')).toContain('# none');
  });
});

describe('labels of a node', () => {
  it.each([
    ['rack', true],
    ['example.org/rack', true],
    ['node.kubernetes.io/pool', true],
    ['mine.node.kubernetes.io/pool', true],
    ['kubernetes.io/arch', true],
    ['topology.kubernetes.io/zone', true],
    ['node-role.kubernetes.io/worker', false],
    ['kubernetes.io/other', false],
    ['k8s.io/other', false],
  ])('%s by the kubelet itself: %s', (name, expected) => {
    expect(mayLabelItself(name)).toBe(expected);
  });
});

describe('an inventory that kubeadm could make nothing of', () => {
  const cluster = (more: string) => `clusters:\n  - name: lab\n    kubernetes: 1.36.4\n${more}`;
  it.each([
    [
      'a Kubernetes that is too old',
      'clusters:\n  - {name: lab, kubernetes: 1.21.0}\n',
      /error 2:29 Kubernetes 1.21.0 is too old/,
    ],
    [
      'kube-vip without an address',
      cluster('    kubeVip: {}\n'),
      /error 4:\d+ "endpoint" is missing: kube-vip needs/,
    ],
    [
      'kube-vip with a name',
      cluster('    endpoint: api.example.org\n    kubeVip: {}\n'),
      /error 5:\d+ "endpoint" is the name api.example.org/,
    ],
    [
      'an endpoint among the pods',
      cluster('    endpoint: 10.244.0.10\n'),
      /error 4:\d+ 10.244.0.10 lies inside `podCidr`/,
    ],
    [
      'a flag that is ours',
      cluster('    kubeadm: {apiServerArgs: {encryption-provider-config: x}}\n'),
      /error 4:\d+ Railhead sets "encryption-provider-config" itself/,
    ],
    [
      'a flag with its dashes',
      cluster('    kubeadm: {kubeletArgs: {--v: "2"}}\n'),
      /error 4:\d+ "--v" is no name of a flag/,
    ],
    [
      'an audit level and a policy',
      cluster('    kubeadm: {audit: {level: Metadata, policy: {rules: []}}}\n'),
      /error 4:\d+ `level` and `policy` say the same/,
    ],
    [
      'a JSON patch that is none',
      cluster('    kubeadm: {patches: [{target: etcd, type: json, patch: {a: 1}}]}\n'),
      /error 4:\d+ expected a list of operations/,
    ],
    [
      'an unknown key',
      cluster('    kubeadm: {apiserverArgs: {}}\n'),
      /error 4:\d+ .*unknown key "apiserverArgs".*apiServerArgs/,
    ],
  ])('%s', async (_what, yaml, expected) => {
    expect((await problemsOf(yaml)).join('\n')).toMatch(expected);
  });
});
