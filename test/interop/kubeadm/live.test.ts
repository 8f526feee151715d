import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { Vault } from '../../../server/access/vault.ts';
import type { KubeadmFiles } from '../../../server/cluster/kubeadm-files.ts';
import type { Event } from '../../../server/events/kinds.ts';
import { EventLog } from '../../../server/events/log.ts';
import { InventoryIndex } from '../../../server/inventory/index.ts';
import type { HostSpec, Inventory } from '../../../server/inventory/model.ts';
import { findHostRow, updateHostRow } from '../../../server/store/hosts.ts';
import { openStore, type Store } from '../../../server/store/store.ts';
import { TemplateFolders, templateFolders } from '../../../server/templating/template-folders.ts';
import { exampleInventory } from '../../cluster/inventory.ts';
import { ROOT } from '../../support/appliance.ts';
import { ControlPlane, ensureControlPlane, freePort, machineAddress } from '../../support/control-plane.ts';
import { KubeadmHost } from '../../support/kubeadm.ts';
import { ensureKubernetesTools } from '../../support/kubectl.ts';
import { ensureKubernetes } from '../../support/kubernetes.ts';
import { ProvisionedClusters } from '../../support/machines.ts';
import { until } from '../../support/poll.ts';

/**
 * A real etcd and kube-apiserver, set up by the real kubeadm from what Railhead told the first host. The tests go in
 * order: a cluster comes up once.
 */
const programs = await ensureControlPlane();
const controller = await ensureKubernetes('kube-controller-manager');
const tools = await ensureKubernetesTools();

interface Lab {
  folder: string;
  store: Store;
  events: EventLog;
  heard: Event[];
  service: ProvisionedClusters;
  inventory: Inventory;
  plane: ControlPlane;
  kubeadm: string;
}

describe.skipIf(programs === undefined || tools === undefined)('a cluster that comes up', () => {
  let lab: Lab;

  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'railhead-live-'));
    const store = await openStore({ dataDir: folder });
    const events = new EventLog({ store, now: Date.now, keepCount: 100_000, keepDays: 1 });
    const heard: Event[] = [];
    events.subscribe((event) => void heard.push(event));
    const port = await freePort();
    const inventory = await inventoryAt(port);
    const service = newService(store, events, inventory);
    const answer = await service.answer(hostIn(inventory, 'c1'), machineAddress());
    service.start();
    const plane = await ControlPlane.start({ ...programs!, ...controller }, filesOf(answer), { port });
    lab = { folder, store, events, heard, service, inventory, plane, kubeadm: programs!.kubeadm };
  });

  afterAll(async () => {
    await lab?.service.stop();
    await lab?.events.stop();
    await lab?.plane.stop();
    await lab?.store.close();
    if (lab !== undefined) rmSync(lab.folder, { recursive: true, force: true });
  });

  it('its API is seen, by a certificate that only our CA can have signed', async () => {
    await until('the API is up', () => lab.service.statusOf('lab').state === 'up');
    expect(lab.heard).toContainEqual(
      expect.objectContaining({ kind: 'cluster.api-up', data: expect.objectContaining({ first: true }) }),
    );
  });

  it('before kubeadm has bound its administrators, only the appliance gets in, for minutes', async () => {
    const own = await lab.service.applianceKubeconfig('lab');
    expect(certificateIn(own).subject).toContain('O=system:masters');
    expect(minutesLeft(own)).toBeLessThan(20);
    expect(kubectl(own, 'get', 'nodes')).toMatchObject({ code: 0 });
    const person = await lab.service.kubeconfig('lab', { hours: 8, address: 'test' });
    expect(certificateIn(person).subject).toContain('O=kubeadm:cluster-admins');
    expect(kubectl(person, 'get', 'nodes').output).toMatch(/Forbidden|forbidden/);
  });

  it('afterwards nobody is more than one of those administrators, and kubectl works for 8 hours', async () => {
    lab.plane.bootstrap();
    const own = await lab.service.applianceKubeconfig('lab');
    expect(certificateIn(own).subject).toContain('O=kubeadm:cluster-admins');
    const person = await lab.service.kubeconfig('lab', { hours: 8, address: '10.9.9.9' });
    expect(kubectl(person, 'auth', 'whoami', '-o', 'json').output).toContain('railhead:admin');
    expect(kubectl(person, 'get', 'namespaces').output).toContain('kube-system');
    expect(minutesLeft(person)).toBeGreaterThan(470);
    expect(minutesLeft(person)).toBeLessThanOrEqual(480);
    expect(lab.heard).toContainEqual(
      expect.objectContaining({
        kind: 'cluster.kubeconfig-issued',
        data: expect.objectContaining({ address: '10.9.9.9' }),
      }),
    );
    // What was given to it can be taken away again: it is bound, not born to it.
    const bound = kubectl(person, 'get', 'clusterrolebinding', 'kubeadm:cluster-admins', '-o', 'json').output;
    expect(JSON.parse(bound)).toMatchObject({
      subjects: [{ kind: 'Group', name: 'kubeadm:cluster-admins' }],
    });
  });

  it('an expired kubeconfig is refused by the API', async () => {
    const over = await lab.service.kubeconfig('lab', { hours: 1 / 3600, address: 'test' });
    await until('it is over', () => kubectl(over, 'get', 'nodes').code !== 0);
    expect(kubectl(over, 'get', 'nodes').output).toMatch(
      /expired|Unauthorized|provide credentials|logged in/i,
    );
  });

  it('Secrets are encrypted before they go to etcd', async () => {
    const admin = await lab.service.kubeconfig('lab', { hours: 1, address: 'test' });
    expect(
      kubectl(admin, 'create', 'secret', 'generic', 'probe', '--from-literal=a=Very-Secret-Words').code,
    ).toBe(0);
    expect(kubectl(admin, 'create', 'configmap', 'probe', '--from-literal=a=Very-Open-Words').code).toBe(0);
    const stored = etcdBytes(lab.plane.etcdFolder);
    expect(stored.includes('Very-Open-Words')).toBe(true);
    expect(stored.includes('Very-Secret-Words')).toBe(false);
    expect(stored.includes('k8s:enc:secretbox:v1:railhead')).toBe(true);
  });

  it('the token of a host authenticates as a bootstrapper, who may next to nothing', async () => {
    await reportDone('c1');
    const answer = filesOf(await lab.service.answer(hostIn(lab.inventory, 'w1'), 'x'));
    const token = tokenIn(answer);
    const config = await tokenKubeconfig(token);
    const who = kubectl(config, 'auth', 'whoami', '-o', 'json').output;
    expect(JSON.parse(who).status.userInfo).toMatchObject({
      username: `system:bootstrap:${token.slice(0, 6)}`,
      groups: expect.arrayContaining(['system:bootstrappers:kubeadm:default-node-token']),
    });
    const may = (...what: string[]) =>
      /^(yes|no)/m.exec(kubectl(config, 'auth', 'can-i', ...what).output)?.[1];
    expect(may('create', 'certificatesigningrequests')).toBe('yes');
    for (const what of [
      ['get', 'secrets', '-A'],
      ['create', 'pods'],
      ['list', 'nodes'],
      ['delete', 'nodes'],
      ['create', 'clusterrolebindings'],
    ]) {
      expect(may(...what), what.join(' ')).toBe('no');
    }
  });

  it('a host that comes late gets a token through the API, which goes when it has joined', async () => {
    const { tokens } = await lab.service.describe('lab');
    expect(tokens.map(({ host }) => host).sort()).toEqual(['c2', 'c3', 'w1', 'w2']);
    await lab.service.rotateTokens('lab');
    const admin = await lab.service.kubeconfig('lab', { hours: 1, address: 'test' });
    const secrets = () => kubectl(admin, '-n', 'kube-system', 'get', 'secrets', '-o', 'name').output;
    expect(secrets()).not.toContain('bootstrap-token-');
    const token = tokenIn(filesOf(await lab.service.answer(hostIn(lab.inventory, 'w2'), 'x')));
    expect(secrets()).toContain(`bootstrap-token-${token.slice(0, 6)}`);
    expect(kubectl(await tokenKubeconfig(token), 'auth', 'whoami').code).toBe(0);
    await reportDone('w2');
    await lab.service.rotateTokens('lab');
    expect(secrets()).not.toContain('bootstrap-token-');
  });

  it('kubeadm joins dry, a worker and a control-plane host, with our token and our CA hash', async () => {
    // Discovery takes only what was signed for this token, which is the controller-manager's work.
    const worker = filesOf(await lab.service.answer(hostIn(lab.inventory, 'w1'), 'x'));
    await signClusterInfo(tokenIn(worker));
    const joined = await dryJoin(worker);
    expect(joined.output).toContain('This node has joined the cluster');
    expect(joined.code).toBe(0);
    const second = filesOf(await lab.service.answer(hostIn(lab.inventory, 'c2'), 'x'));
    await signClusterInfo(tokenIn(second));
    const plane = await dryJoin(second);
    expect(plane.output).toContain(
      'This node has joined the cluster and a new control plane instance was created',
    );
  });

  it('kubeadm refuses a wrong token and a wrong CA hash', async () => {
    const worker = filesOf(await lab.service.answer(hostIn(lab.inventory, 'w1'), 'x'));
    // It goes on trying for five minutes otherwise.
    const impatient = `${worker.config}timeouts:\n  discovery: 15s\n`;
    const wrongToken = await dryJoin({
      ...worker,
      config: impatient.replace(tokenIn(worker), 'abcdef.0123456789abcdef'),
    });
    expect(wrongToken.code).not.toBe(0);
    expect(wrongToken.output).toMatch(/token id "abcdef" is invalid|could not find a JWS signature/i);
    const wrongHash = await dryJoin({
      ...worker,
      config: impatient.replace(/sha256:[0-9a-f]{64}/, `sha256:${'0'.repeat(64)}`),
    });
    expect(wrongHash.code).not.toBe(0);
    expect(wrongHash.output).toMatch(/none of the public keys|hash|pinned/i);
  });

  it("nodes' conditions arrive as events and states: joined, no CNI, ready", async () => {
    const admin = await lab.service.applianceKubeconfig('lab');
    const stateOf = async (name: string) => (await findHostRow(lab.store.db, name))?.state;
    expect(await stateOf('w1')).toBe('bootstrapping');
    apply(admin, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'w1' } });
    setReady(
      admin,
      'w1',
      'False',
      'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized',
    );
    await until('it has joined', async () => (await stateOf('w1')) === 'joined');
    await until('it is not ready', () =>
      heardOf('node.not-ready').some(({ data }) => data.reason === 'CNIMissing'),
    );
    setReady(admin, 'w1', 'True', 'kubelet is posting ready status');
    await until('it is ready', async () => (await stateOf('w1')) === 'ready');
    expect((await findHostRow(lab.store.db, 'w1'))?.ever_ready).toBe(1);
    expect(heardOf('node.joined')).toContainEqual(expect.objectContaining({ host: 'w1' }));
    expect(heardOf('node.ready')).toContainEqual(expect.objectContaining({ host: 'w1' }));
    const { nodes } = await lab.service.describe('lab');
    expect(nodes).toMatchObject([{ name: 'w1', ready: 'True', version: '' }]);
  });

  it('an API that is away is unknown, never gone; and it is seen again', async () => {
    await lab.plane.kill('kube-apiserver');
    await until('it is unknown', () => lab.service.statusOf('lab').state === 'unknown');
    expect(lab.service.statusOf('lab').reason).toContain('no answer');
    expect((await lab.service.describe('lab')).nodes).toMatchObject([{ name: 'w1', ready: 'Unknown' }]);
    await expect(lab.service.answer(hostIn(lab.inventory, 'c3'), 'x')).rejects.toThrow(/doesn't answer now/);
    await lab.plane.startApi();
    await until('it is up again', () => lab.service.statusOf('lab').state === 'up');
    expect(heardOf('node.removed')).toEqual([]);
    expect(heardOf('cluster.api-unknown')).toHaveLength(1);
    expect((await lab.service.describe('lab')).nodes).toMatchObject([{ name: 'w1', ready: 'True' }]);
  });

  it('a node that was deleted is told of, once', async () => {
    const admin = await lab.service.applianceKubeconfig('lab');
    expect(kubectl(admin, 'delete', 'node', 'w1').code).toBe(0);
    await until('it is told', () => heardOf('node.removed').length > 0);
    expect(heardOf('node.removed')).toHaveLength(1);
  });

  it.skipIf(controller === undefined)(
    'the real controller-manager signs for the token of a new host, and kubeadm believes it',
    async () => {
      await lab.plane.startControllerManager();
      await lab.service.rotateTokens('lab');
      const worker = filesOf(await lab.service.answer(hostIn(lab.inventory, 'c2'), 'x'));
      const id = tokenIn(worker).slice(0, 6);
      const admin = await lab.service.applianceKubeconfig('lab');
      const signed = () =>
        kubectl(admin, '-n', 'kube-public', 'get', 'configmap', 'cluster-info', '-o', 'yaml').output;
      await until('it is signed', () => signed().includes(`jws-kubeconfig-${id}`));
      expect((await dryJoin(worker)).code).toBe(0);
      await lab.plane.kill('kube-controller-manager');
    },
  );

  it('another cluster at the same address is not taken for ours', async () => {
    const store = await openStore({ dataDir: mkdtempSync(join(lab.folder, 'other-')) });
    const events = new EventLog({ store, now: Date.now, keepCount: 1000, keepDays: 1 });
    const other = newService(store, events, lab.inventory);
    await other.answer(hostIn(lab.inventory, 'c1'), machineAddress());
    other.start();
    await until('it says so', () => other.statusOf('lab').reason.includes('is not this cluster'));
    expect(other.statusOf('lab').state).toBe('unknown');
    await other.stop();
    await events.stop();
    await store.close();
  });

  it('takes the pod of kube-vip, before and after kubeadm is through', async () => {
    const inventory = await exampleInventory('endpoint: 10.0.0.10:6443\nkubeVip: {interface: eno1}');
    const store = await openStore({ dataDir: mkdtempSync(join(lab.folder, 'kube-vip-')) });
    const events = new EventLog({ store, now: Date.now, keepCount: 1000, keepDays: 1 });
    const service = newService(store, events, inventory);
    const { files } = filesOf(await service.answer(hostIn(inventory, 'c1'), 'x'));
    const admin = await lab.service.applianceKubeconfig('lab');
    // A kubelet needs none; the API would ask for it.
    apply(admin, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'default', namespace: 'kube-system' },
    });
    const create = (text: string) =>
      kubectlWith(admin, text, 'create', '--dry-run=server', '--validate=strict', '-f', '-');
    const pods = files.filter(({ path }) => path.endsWith('manifests/kube-vip.yaml'));
    expect(pods.map(({ path }) => path)).toEqual([
      'manifests/kube-vip.yaml',
      'after/manifests/kube-vip.yaml',
    ]);
    for (const { path, content } of pods) {
      expect(create(content), path).toEqual({ code: 0, output: 'pod/kube-vip created (server dry run)\n' });
    }
    expect(create(pods[0]!.content.replace('hostNetwork:', 'hostNetworks:')).output).toMatch(/unknown field/);
    await events.stop();
    await store.close();
  });

  it('an endpoint that its certificate is not good for is told as that, and nobody is sent there', async () => {
    await lab.service.stop();
    const relay = createServer((socket) => {
      const onward = connect(lab.plane.port, machineAddress());
      socket.pipe(onward).pipe(socket);
      for (const end of [socket, onward]) end.on('error', () => {});
    });
    // Loopback, and no name of this cluster.
    const port = await new Promise<number>((resolve) => {
      relay.listen(0, '127.0.0.2', () => resolve((relay.address() as { port: number }).port));
    });
    const moved = await exampleInventory(`endpoint: "127.0.0.2:${port}"`, machineAddress());
    const service = newService(lab.store, lab.events, moved);
    onTestFinished(async () => {
      await service.stop();
      relay.close();
    });
    service.start();
    await until('it says so', () => service.statusOf('lab').reason.includes('not good for this endpoint'));
    const tokens = () => lab.store.db.selectFrom('bootstrap_tokens').selectAll().execute();
    const before = await tokens();
    await expect(service.answer(hostIn(moved, 'c3'), 'x')).rejects.toThrow(
      /doesn't answer now \(its certificate is not good for this endpoint/,
    );
    expect(await tokens()).toEqual(before);
  });

  function newService(store: Store, events: EventLog, inventory: Inventory): ProvisionedClusters {
    const index = new InventoryIndex(inventory);
    return new ProvisionedClusters({
      store,
      events,
      now: Date.now,
      vault: new Vault(Buffer.alloc(32, 5)),
      inventory: () => index,
      templates: new TemplateFolders({ now: Date.now, folders: templateFolders(`${ROOT}/templates`) }),
      readSecret: () => '',
      isNews: () => true,
      onFault: (error) => console.error(error),
      pace: { lookMs: 100, firstPauseMs: 100, longestPauseMs: 500, restMs: 200 },
    });
  }

  function heardOf<K extends Event['kind']>(kind: K): Extract<Event, { kind: K }>[] {
    return lab.heard.filter((event): event is Extract<Event, { kind: K }> => event.kind === kind);
  }

  async function reportDone(name: string): Promise<void> {
    await lab.events.transact(async (db) => {
      await updateHostRow(
        db,
        name,
        { joined_at: Date.now(), state: 'joined' },
        { state: 'assigned', now: 0 },
      );
      await lab.service.finishJoin(db, name);
      return [{ kind: 'boot.stage', host: name, data: { stage: 'kubeadm-done' } }];
    });
  }

  async function tokenKubeconfig(token: string): Promise<string> {
    const admin = await lab.service.kubeconfig('lab', { hours: 1, address: 'test' });
    return admin.replace(/client-certificate-data: .*\n\s+client-key-data: .*\n/, `token: ${token}\n`);
  }

  /** What the controller-manager does: kubeadm believes only in a cluster-info that its token has signed. */
  async function signClusterInfo(token: string): Promise<void> {
    const { createHmac } = await import('node:crypto');
    const admin = await lab.service.applianceKubeconfig('lab');
    const info = JSON.parse(
      kubectl(admin, '-n', 'kube-public', 'get', 'configmap', 'cluster-info', '-o', 'json').output,
    );
    const [id, secret = ''] = token.split('.');
    const base64 = (value: string | Buffer) => Buffer.from(value).toString('base64url');
    const head = base64(JSON.stringify({ alg: 'HS256', kid: id }));
    const content = base64(info.data.kubeconfig);
    const signature = createHmac('sha256', secret).update(`${head}.${content}`).digest('base64url');
    const patch = JSON.stringify({ data: { [`jws-kubeconfig-${id}`]: `${head}..${signature}` } });
    expect(
      kubectl(admin, '-n', 'kube-public', 'patch', 'configmap', 'cluster-info', '--type=merge', '-p', patch)
        .code,
    ).toBe(0);
  }

  async function dryJoin(files: KubeadmFiles): Promise<{ code: number; output: string }> {
    const host = new KubeadmHost(lab.kubeadm, mkdtempSync(join(lab.folder, 'join-')));
    host.place(files);
    return host.run('join', '--dry-run', '--ignore-preflight-errors=all', '--config', '/tmp/config.yaml');
  }

  function apply(kubeconfig: string, object: object): void {
    const { code, output } = kubectlWith(kubeconfig, JSON.stringify(object), 'apply', '-f', '-');
    if (code !== 0) throw new Error(output);
  }

  function setReady(kubeconfig: string, node: string, status: string, message: string): void {
    const now = new Date().toISOString();
    const ready = {
      type: 'Ready',
      status,
      reason: status === 'True' ? 'KubeletReady' : 'KubeletNotReady',
      message,
      lastHeartbeatTime: now,
      lastTransitionTime: now,
    };
    const patch = JSON.stringify({ status: { conditions: [ready] } });
    const { code, output } = kubectl(
      kubeconfig,
      'patch',
      'node',
      node,
      '--subresource=status',
      '--type=merge',
      '-p',
      patch,
    );
    if (code !== 0) throw new Error(output);
  }

  function kubectl(kubeconfig: string, ...args: string[]) {
    return kubectlWith(kubeconfig, '', ...args);
  }

  function kubectlWith(
    kubeconfig: string,
    input: string,
    ...args: string[]
  ): { code: number; output: string } {
    const file = join(lab.folder, 'kubeconfig');
    writeFileSync(file, kubeconfig, { mode: 0o600 });
    const { status, stdout, stderr } = spawnSync(tools!.kubectl, ['--kubeconfig', file, ...args], {
      input,
      encoding: 'utf8',
      timeout: 120_000,
      env: { HOME: lab.folder, PATH: '/usr/bin:/bin' },
    });
    return { code: status ?? -1, output: `${stdout}${stderr}` };
  }
});

async function inventoryAt(port: number): Promise<Inventory> {
  return exampleInventory(
    `endpoint: "${machineAddress()}:${port}"\naddons: [{name: cilium}]`,
    machineAddress(),
  );
}

function hostIn(inventory: Inventory, name: string): HostSpec {
  return inventory.hosts.find((host) => host.name === name)!;
}

function filesOf(answer: Awaited<ReturnType<ProvisionedClusters['answer']>>): KubeadmFiles {
  if (answer.action === 'none') throw new Error('there is nothing to do');
  return answer;
}

function tokenIn({ config }: KubeadmFiles): string {
  return /token: (\S+)/.exec(config)![1]!;
}

function certificateIn(kubeconfig: string): X509Certificate {
  return new X509Certificate(Buffer.from(/client-certificate-data: (\S+)/.exec(kubeconfig)![1]!, 'base64'));
}

function minutesLeft(kubeconfig: string): number {
  return (new Date(certificateIn(kubeconfig).validTo).getTime() - Date.now()) / 60_000;
}

/** Everything that etcd has written down. */
function etcdBytes(folder: string): Buffer {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return Buffer.concat(files.map(({ parentPath, name }) => readFileSync(join(parentPath, name))));
}
