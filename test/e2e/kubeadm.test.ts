import { createHash, X509Certificate } from 'node:crypto';
import { truncateSync, writeFileSync } from 'node:fs';
import { afterAll, describe, expect } from 'vitest';
import { ofKind, stagesOf } from '../support/boot-facts.ts';
import { ControlPlane, ensureControlPlane, freePort, machineAddress } from '../support/control-plane.ts';
import { withDiskPrograms } from '../support/disk-guest.ts';
import { callsOf, orderOf, type RecordedCall, unitOf } from '../support/kubeadm-recorder.ts';
import { type Boot, type Lab, labTest } from '../support/lab.ts';
import { findLabTools } from '../support/lab-tools.ts';
import { until } from '../support/poll.ts';
import { withSystemd } from '../support/systemd-guest.ts';

/**
 * The real systemd starts what the real Ignition wrote. A recorder stands in kubeadm's place; but of what it was given
 * by the first host, the real kubeadm and kube-apiserver make the API that the others join.
 */
const plain = await findLabTools();
const withDisks = plain && (await withDiskPrograms(plain));
const tools = withDisks && (await withSystemd(withDisks));
const programs = tools && (await ensureControlPlane());

const C1 = '52:54:00:12:34:51';
const C2 = '52:54:00:12:34:52';
const W1 = '52:54:00:12:34:53';

const ENDPOINT = '10.55.0.1:6443';
const CONFIG = '--config /run/railhead/kubeadm/config.yaml';
const EXTENSIONS = ['sysupdate -C kubernetes update v1.36.4', 'sysupdate -C containerd update 2.1.5'];
/** Up to kubeadm, when nothing goes wrong. */
const BEFORE = [...EXTENSIONS, 'merged', 'clock'];
const STAGES = ['ignition-done', 'boot-complete', 'sysext-merged', 'provisioned'];

/** All that a control-plane host has when kubeadm begins. */
const CONTROL_PLANE_FILES = {
  'pki/ca.crt': '644 root',
  'pki/ca.key': '600 root',
  'pki/etcd/ca.crt': '644 root',
  'pki/etcd/ca.key': '600 root',
  'pki/front-proxy-ca.crt': '644 root',
  'pki/front-proxy-ca.key': '600 root',
  'pki/sa.key': '600 root',
  'pki/sa.pub': '644 root',
  'railhead/encryption.yaml': '600 root',
};

/** What the machines did, and what kubeadm was given there. */
interface Play {
  /** Of c1, whose kubeadm fails at first. */
  disk: string;
  begun: Boot;
  failed: RecordedCall;
  init: RecordedCall;
  /** Of c2, whose containerd fails at first. */
  second: Boot;
  join: RecordedCall;
  /** Of w1, whose extensions can't be merged at first. */
  worker: Boot;
  workerJoin: RecordedCall;
}

// A cluster is begun once: a second try would find it there.
describe.skipIf(programs === undefined)('machines become a cluster, in order', { retry: 0 }, () => {
  let plane: ControlPlane | undefined;
  let play: Play;
  afterAll(() => plane?.stop());

  const test = labTest({
    tools,
    hosts: `
  - { name: c1, pool: control, disk: /dev/vda, macs: ['${C1}'] }
  - { name: c2, pool: control, macs: ['${C2}'] }
  - { name: w1, pool: workers, macs: ['${W1}'] }
`,
    inventory: `
clusters:
  - { name: lab, kubernetes: 1.36.4, containerd: 2.1.5, endpoint: "${ENDPOINT}", podCidr: 10.244.0.0/16 }
pools:
  - { name: control, cluster: lab, role: control-plane, profile: ram }
  - { name: workers, cluster: lab, profile: ram }
`,
  });

  test('the others wait until the API of the first answers, and the host pages say so', async ({
    lab,
    boot,
  }) => {
    const disk = blankDisk(lab);
    const booting = async (mac: string, guest: string): Promise<Boot> => {
      const { kernelLine } = await lab.openBoot(mac);
      return boot({ firmware: 'bios', mac, kernelLine, guest, patienceSeconds: 400 });
    };
    const beginning = boot({ firmware: 'bios', mac: C1, disk, guest: 'guest.kubeadm-fails=1' });
    const workerJoining = booting(W1, 'guest.merge-fails=1');
    const begun = await beginning;
    const secondJoining = booting(C2, 'guest.containerd-fails=1');
    const [failed, init] = callsOf(begun) as [RecordedCall, RecordedCall];

    // The API is up before both of the others have asked, but nobody gets there.
    const port = await freePort();
    plane = await ControlPlane.start(programs!, init, { port });
    const reason = 'the API of lab, which c1 is setting up';
    const bothWait = async () => (await waitingFor(lab, reason)).isSupersetOf(new Set(['c2', 'w1']));
    await until('both wait', bothWait, 180_000);
    for (const host of ['c2', 'w1']) expect(await lab.get(`/hosts/${host}`)).toContain(`Waits for ${reason}`);
    await lab.forward(6443, { host: machineAddress(), port });

    const [second, worker] = await Promise.all([secondJoining, workerJoining]);
    for (const { serial } of [second, worker]) {
      expect(serial).toMatch(/error: 503[\s\S]*railhead: waiting: .*RH_CLUSTER_WAITS/);
    }
    const [join] = callsOf(second) as [RecordedCall];
    const [workerJoin] = callsOf(worker) as [RecordedCall];
    play = { disk, begun, failed, init, second, join, worker, workerJoin };
  });

  test('the first begins; when kubeadm fails it says so, resets, and begins again with the same configuration', () => {
    const { begun, failed, init } = play;
    expect(orderOf(begun)).toEqual([
      ...[...BEFORE, 'containerd', `kubeadm init ${CONFIG}`],
      ...['kubeadm reset --force', `kubeadm init ${CONFIG}`],
    ]);
    expect(unitOf(begun)).toEqual({ ActiveState: 'active', ConditionResult: 'yes', NRestarts: '1' });
    expect(stagesOf(begun).slice(-6)).toEqual([...STAGES, 'failed', 'kubeadm-done'].map((at) => `c1 ${at}`));
    expect(failuresOf(begun, 'c1')).toEqual(['kubeadm init failed; see journalctl -u railhead-kubeadm']);
    expect(failed.found).toEqual(CONTROL_PLANE_FILES);
    expect(init.found).toEqual(CONTROL_PLANE_FILES);
    expect(init.config).toBe(failed.config);
    expect(init.kinds).toMatchObject({
      InitConfiguration: { nodeRegistration: { name: 'c1' } },
      ClusterConfiguration: {
        clusterName: 'lab',
        kubernetesVersion: 'v1.36.4',
        controlPlaneEndpoint: ENDPOINT,
      },
      KubeletConfiguration: {},
    });
  });

  test('another control-plane host joins with the same keys, also when its containerd needs two tries', () => {
    const { init, second, join } = play;
    expect(orderOf(second)).toEqual([
      ...[...BEFORE, 'containerd failed', 'containerd', `kubeadm join ${CONFIG}`],
    ]);
    expect(unitOf(second)).toEqual({ ActiveState: 'active', ConditionResult: 'yes', NRestarts: '1' });
    expect(failuresOf(second, 'c2')).toEqual(['containerd does not start: journalctl -u containerd.service']);
    expect(stagesOf(second).at(-1)).toBe('c2 kubeadm-done');
    expect(join.kinds.JoinConfiguration).toMatchObject({
      discovery: { bootstrapToken: { apiServerEndpoint: ENDPOINT, caCertHashes: [pinOf(init)] } },
      controlPlane: {},
      nodeRegistration: { name: 'c2' },
    });
    expect(join.found).toEqual(CONTROL_PLANE_FILES);
    expect(join.files.toSorted(byPath)).toEqual(init.files.toSorted(byPath));
  });

  test('a worker joins without any keys, also when its extensions need two tries', () => {
    const { init, worker, workerJoin } = play;
    expect(orderOf(worker)).toEqual([
      ...[...EXTENSIONS, 'merge failed', ...BEFORE, 'containerd', `kubeadm join ${CONFIG}`],
    ]);
    expect(unitOf(worker)).toEqual({ ActiveState: 'active', ConditionResult: 'yes', NRestarts: '0' });
    expect(failuresOf(worker, 'w1')).toEqual([
      'railhead-sysext.service failed: journalctl -u railhead-sysext.service',
    ]);
    expect(stagesOf(worker).at(-1)).toBe('w1 kubeadm-done');
    expect(workerJoin.kinds.JoinConfiguration).toMatchObject({
      discovery: { bootstrapToken: { apiServerEndpoint: ENDPOINT, caCertHashes: [pinOf(init)] } },
      nodeRegistration: { name: 'w1' },
    });
    expect(workerJoin.kinds.JoinConfiguration).not.toHaveProperty('controlPlane');
    expect(workerJoin.found).toEqual({});
  });

  test('each joins with a token of its own, and no secret is on a command line or in the log', ({ lab }) => {
    const { failed, init, join, workerJoin } = play;
    const tokens = tokensIn(init);
    expect(new Set(tokens).size).toBe(2);
    expect([...tokensIn(join), ...tokensIn(workerJoin)].toSorted()).toEqual(tokens.toSorted());
    for (const call of [failed, init, join, workerJoin]) {
      expect(call.processes).toContain('/opt/railhead/bin/railhead-node kubeadm');
      for (const secret of [...secretsOf(init), call.agentToken]) {
        expect(call.processes).not.toContain(secret);
        expect(lab.appliance.output).not.toContain(secret);
      }
    }
  });

  test('booted again, the first does not run kubeadm: its disk says that it is a member', async ({
    lab,
    boot,
  }) => {
    // As long as it could still be on, whoever has its MAC gets nothing.
    const { kernelLine } = await until('it is taken to be off', () => lab.openBoot(C1), 90_000);
    const again = await boot({ firmware: 'bios', mac: C1, disk: play.disk, kernelLine });
    expect(again.serial).toContain('the data partition /dev/vda1 is kept');
    expect(orderOf(again)).toEqual(BEFORE);
    expect(unitOf(again)).toEqual({ ActiveState: 'inactive', ConditionResult: 'no', NRestarts: '0' });
    expect(stagesOf(again).slice(-4)).toEqual(STAGES.map((stage) => `c1 ${stage}`));
    expect(ofKind(again, 'cluster.kubeadm-answered', 'c1')).toEqual([]);
  });
});

function blankDisk(lab: Lab): string {
  const disk = lab.newDisk();
  writeFileSync(disk, '');
  truncateSync(disk, 64 * 1024 * 1024);
  return disk;
}

/** Why it said that it failed. */
function failuresOf(boot: Boot, host: string): (string | undefined)[] {
  return ofKind(boot, 'boot.stage', host).flatMap(({ data }) =>
    data.stage === 'failed' ? [data.message] : [],
  );
}

async function waitingFor(lab: Lab, reason: string): Promise<Set<string | undefined>> {
  const waiting = (await lab.events()).filter(
    (event) => event.kind === 'cluster.waiting' && event.data.reason === reason,
  );
  return new Set(waiting.map(({ host }) => host));
}

function contentOf({ files }: RecordedCall, wanted: string): string {
  return files.find(({ path }) => path === wanted)!.content;
}

function tokensIn({ config }: RecordedCall): string[] {
  return [...config.matchAll(/token: ["']?([a-z0-9]{6}\.[a-z0-9]{16})\b/g)].map(([, token = '']) => token);
}

/** Every line of a key is as secret as all of it. */
function secretsOf(call: RecordedCall): string[] {
  const keys = call.files.filter(({ path }) => path.endsWith('.key'));
  const encryption = /secret: (\S+)/.exec(contentOf(call, 'railhead/encryption.yaml'))![1]!;
  const lines = keys.flatMap(({ content }) =>
    content.split('\n').filter((line) => /^[\w+/=]{16,}$/.test(line)),
  );
  return [...lines, ...tokensIn(call), encryption];
}

/** As kubeadm works it out. */
function pinOf(init: RecordedCall): string {
  const key = new X509Certificate(contentOf(init, 'pki/ca.crt')).publicKey.export({
    type: 'spki',
    format: 'der',
  });
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
}

function byPath(a: { path: string }, b: { path: string }): number {
  return a.path.localeCompare(b.path);
}
