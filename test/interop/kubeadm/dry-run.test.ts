import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { KubeadmAnswer } from '../../../server/cluster/joins.ts';
import { makeSecrets } from '../../../server/cluster/secrets.ts';
import { loadInventoryFolder } from '../../../server/inventory/load.ts';
import type { Inventory } from '../../../server/inventory/model.ts';
import { openStore } from '../../../server/store/store.ts';
import { exampleInventory } from '../../cluster/inventory.ts';
import { clustersOn } from '../../cluster/service.ts';
import { ROOT } from '../../support/appliance.ts';
import { KubeadmHost } from '../../support/kubeadm.ts';
import { ensureKubernetes } from '../../support/kubernetes.ts';
import { until } from '../../support/poll.ts';
import { tempFolder } from '../../support/temp.ts';

/** The real kubeadm judges what hosts are given: it takes the files, or it says why not. */
const programs = await ensureKubernetes('kubeadm');

const EVERYTHING = `endpoint: 10.0.0.10:6443
kubeVip: {interface: eno1}
podCidr: [10.244.0.0/16, fd10::/56]
serviceCidr: [10.96.0.0/16, fd11::/112]
addons: [{name: cilium}]
kubeadm:
  sans: [api.example.org]
  oidc: {issuerUrl: https://id.example.org, clientId: kubernetes, usernameClaim: email, groupsClaim: groups}
  audit: {level: Metadata, maxAgeDays: 7}
  apiServerArgs: {profiling: "false", runtime-config: "api/all=true"}
  controllerManagerArgs: {bind-address: 0.0.0.0}
  schedulerArgs: {v: "2"}
  etcdArgs: {quota-backend-bytes: "4294967296"}
  kubeletArgs: {v: "2"}
  kubelet: {maxPods: 200}
  patches:
    - {target: kube-apiserver, patch: {metadata: {annotations: {mine: "yes"}}}}
    - {target: kube-scheduler, type: json, patch: [{op: add, path: /metadata/labels/mine, value: "yes"}]}`;

interface Answered {
  answer: KubeadmAnswer & { config: string };
  kubeadm: KubeadmHost;
}

/** What every member of a cluster is told, in their order. */
async function answersOf(inventory: Inventory): Promise<Map<string, Answered>> {
  const [cluster, first] = [inventory.clusters[0]!.name, inventory.hosts[0]!.name];
  const store = await openStore({ dataDir: await tempFolder() });
  const clusters = clustersOn(store, inventory);
  const answers = new Map<string, Answered>();
  for (const host of inventory.hosts.filter(({ member }) => member)) {
    const answer = await clusters.service.answer(host, '10.0.0.11');
    if (answer.action === 'none') throw new Error('nothing to judge');
    const kubeadm = new KubeadmHost(programs!.kubeadm, await tempFolder());
    kubeadm.place(answer);
    answers.set(host.name, { answer, kubeadm });
    if (host.name === first) {
      clusters.service.start();
      await until('the API is seen', () => clusters.service.statusOf(cluster).state === 'up');
    }
    await clusters.events.transact(async (db) => {
      await clusters.service.finishJoin(db, host.name);
      return [];
    });
  }
  await clusters.service.stop();
  await clusters.events.stop();
  await store.close();
  return answers;
}

describe.skipIf(programs === undefined)('kubeadm', () => {
  it.each([
    ['everything at once, with kube-vip', EVERYTHING],
    ['an external endpoint by name', 'endpoint: api.example.org:443'],
    ['an IPv6 endpoint', 'endpoint: "[fd00::10]:6443"\npodCidr: fd10::/56\nserviceCidr: fd11::/112'],
  ])('accepts three control-plane hosts and two workers: %s', async (_what, cluster) => {
    const answers = await answersOf(await exampleInventory(cluster));
    expect([...answers].map(([name, { answer }]) => `${name} ${answer.action}`)).toEqual([
      'c1 init',
      'c2 join',
      'c3 join',
      'w1 join',
      'w2 join',
    ]);
    for (const [name, { kubeadm }] of answers) {
      expect(kubeadm.run('config', 'validate', '--config', '/tmp/config.yaml'), name).toMatchObject({
        code: 0,
      });
    }
  });

  it('accepts the example that is there to be copied, and begins with it', async () => {
    const { inventory, problems } = await loadInventoryFolder(`${ROOT}/inventory/examples/ha`, 'ha');
    expect(problems).toEqual([]);
    const answers = await answersOf(inventory!);
    expect([...answers].map(([name, { answer }]) => `${name} ${answer.action}`)).toEqual([
      'cp1 init',
      'cp2 join',
      'cp3 join',
      'w1 join',
      'w2 join',
    ]);
    for (const [name, { kubeadm }] of answers) {
      const judged = kubeadm.run('config', 'validate', '--config', '/tmp/config.yaml');
      expect(judged, name).toMatchObject({ code: 0 });
    }
    const { code, output } = answers
      .get('cp1')!
      .kubeadm.run('init', '--dry-run', '--ignore-preflight-errors=all', '--config', '/tmp/config.yaml');
    expect(output).toContain('Your Kubernetes control-plane has initialized successfully');
    expect(code).toBe(0);
  });

  it('keeps our PKI byte for byte, and makes leafs, kubeconfigs and manifests of it', async () => {
    const { answer, kubeadm } = (await answersOf(await exampleInventory(EVERYTHING))).get('c1')!;
    const config = ['--config', '/tmp/config.yaml'];
    const certs = kubeadm.mustRun('init', 'phase', 'certs', 'all', ...config);
    expect(certs).toContain('Using existing ca certificate authority');
    expect(certs).toContain('Using existing front-proxy-ca certificate authority');
    expect(certs).toContain('Using existing etcd/ca certificate authority');
    expect(certs).toContain('Using the existing "sa" key');
    // The endpoint and every control-plane host can be asked, also those that are not there yet.
    const signed = /apiserver serving cert is signed for (.*)/.exec(certs)![1]!;
    for (const name of ['api.example.org', 'c2', 'c3', '10.0.0.10', '10.0.0.11', '10.0.0.12', '10.0.0.13']) {
      expect(signed).toContain(name);
    }
    for (const { path, content } of answer.action === 'none' ? [] : answer.files) {
      if (path.startsWith('pki/'))
        expect(readFileSync(kubeadm.path(`/etc/kubernetes/${path}`), 'utf8'), path).toBe(content);
    }
    kubeadm.mustRun('init', 'phase', 'kubeconfig', 'all', ...config);
    const plane = kubeadm.mustRun('init', 'phase', 'control-plane', 'all', ...config);
    expect(plane).toContain(
      'Applied patch of type "application/strategic-merge-patch+json" to target "kube-apiserver"',
    );
    expect(plane).toContain('Applied patch of type "application/json-patch+json" to target "kube-scheduler"');
    const manifest = readFileSync(kubeadm.path('/etc/kubernetes/manifests/kube-apiserver.yaml'), 'utf8');
    for (const flag of [
      '--encryption-provider-config=/etc/kubernetes/railhead/encryption.yaml',
      '--audit-policy-file=/etc/kubernetes/railhead/audit-policy.yaml',
      '--audit-log-maxage=7',
      '--oidc-issuer-url=https://id.example.org',
      '--oidc-groups-claim=groups',
      '--profiling=false',
      'mine: "yes"',
    ]) {
      expect(manifest).toContain(flag);
    }
    kubeadm.mustRun('init', 'phase', 'etcd', 'local', ...config);
  });

  it('runs init dry, without kube-proxy where Cilium takes its place, and with our tokens only', async () => {
    const { kubeadm } = (await answersOf(await exampleInventory(EVERYTHING))).get('c1')!;
    const { code, output } = kubeadm.run(
      'init',
      '--dry-run',
      '--ignore-preflight-errors=all',
      '--config',
      '/tmp/config.yaml',
    );
    expect(output).toContain('Your Kubernetes control-plane has initialized successfully');
    expect(code).toBe(0);
    expect(output).not.toContain('kube-proxy');
  });

  it('has kube-proxy where nobody takes its place', async () => {
    const { kubeadm } = (await answersOf(await exampleInventory())).get('c1')!;
    const { output } = kubeadm.run(
      'init',
      '--dry-run',
      '--ignore-preflight-errors=all',
      '--config',
      '/tmp/config.yaml',
    );
    expect(output).toContain('kube-proxy');
  });

  it('still reads what we write for Kubernetes before 1.31', async () => {
    const inventory = await exampleInventory(EVERYTHING);
    const [cluster] = inventory.clusters;
    for (const host of inventory.hosts) if (host.kubernetes !== undefined) host.kubernetes = '1.30.4';
    cluster!.kubernetes = '1.30.4';
    for (const [name, { answer, kubeadm }] of await answersOf(inventory)) {
      expect(answer.config).toContain('kubeadm.k8s.io/v1beta3');
      // It refuses a version that is too far from its own: that is not what is judged here.
      kubeadm.write('/tmp/config.yaml', answer.config.replace('v1.30.4', 'v1.36.4'));
      const { code, output } = kubeadm.run('config', 'validate', '--config', '/tmp/config.yaml');
      expect(code, `${name} ${output}`).toBe(0);
      expect(output).toContain('deprecated API spec: "kubeadm.k8s.io/v1beta3"');
      expect(output).not.toMatch(/unknown field|strict decoding/);
    }
  });

  it('refuses a bundle whose parts do not belong together, as we do', async () => {
    const { kubeadm } = (await answersOf(await exampleInventory())).get('c1')!;
    const other = await makeSecrets(new Date());
    writeFileSync(kubeadm.path('/etc/kubernetes/pki/ca.key'), other.ca.key);
    const { code, output } = kubeadm.run('init', 'phase', 'certs', 'all', '--config', '/tmp/config.yaml');
    expect(code).not.toBe(0);
    expect(output).toMatch(/ca.*(key|certificate)/i);
  });

  it('never touches this machine', () => {
    expect(existsSync('/etc/kubernetes/admin.conf')).toBe(false);
  });
});
