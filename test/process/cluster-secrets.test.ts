import { readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ClusterDescription } from '../../server/cluster/describe.ts';
import type { KubeadmAnswer } from '../../server/cluster/joins.ts';
import type { PipelineStatus } from '../../server/pipeline/describe.ts';
import { writeProgram } from '../pipeline/make.ts';
import { RegisteredAgent } from '../support/agent.ts';
import {
  type Appliance,
  ask,
  launchAppliance,
  newSite,
  ROOT,
  type Site,
  Started,
  siteEnv,
} from '../support/appliance.ts';
import { giveImage } from '../support/booting.ts';
import { ensureControlPlane, machineAddress } from '../support/control-plane.ts';
import { ensureKubernetesTools, type KubernetesTools } from '../support/kubectl.ts';
import { hitsOf, keysOf, type Named, placesOf } from '../support/places.ts';
import { until } from '../support/poll.ts';
import { ProcessWatch } from '../support/processes.ts';
import { StandInCluster } from '../support/stand-in-cluster.ts';

vi.setConfig({ testTimeout: 300_000 });
const isPossible =
  (await ensureControlPlane()) !== undefined && (await ensureKubernetesTools()) !== undefined;

const CHARTS = join(ROOT, 'test', 'fixtures', 'charts');
const PASSWORD = 'correct-horse-battery-staple';
const MACS = { c1: '52:54:00:12:34:01', w1: '52:54:00:12:34:02' };
const PATIENCE = 120_000;

const inventoryAt = (port: number): string => `
clusters:
  - name: lab
    kubernetes: 1.36.4
    endpoint: "${machineAddress()}:${port}"
    addons:
      - {name: cilium, path: ${CHARTS}/cilium}
      - {name: cert-manager, path: ${CHARTS}/cert-manager}
      - name: argocd
        path: ${CHARTS}/argo-cd
        values: {configs: {secret: {admin.password: {fromFile: secrets/argo}}}}
    pipeline:
      steps: [untaint, install-core, install-argo, {name: spill, values: {password: {fromFile: secrets/argo}}}]
profiles: [{name: flatcar, os: flatcar, version: 4593.2.5}]
pools:
  - {name: control, cluster: lab, role: control-plane, profile: flatcar}
  - {name: workers, cluster: lab, profile: flatcar}
hosts:
  - {name: c1, pool: control, ip: ${machineAddress()}, macs: ["${MACS.c1}"]}
  - {name: w1, pool: workers, macs: ["${MACS.w1}"]}
`;

/** A step that says everything it was given: nothing of it may be seen. */
const SPILL = 'cat "$KUBECONFIG"; cat "$RAILHEAD_VALUES"; env; cat /proc/self/cmdline; echo all was said';

interface Recorder {
  tools: KubernetesTools;
  /** Every call of kubectl and helm: arguments and environment. */
  calls: () => string;
  /** The keys that the appliance has made for itself. */
  keys: () => string[];
}

/** kubectl and helm, each behind a program that writes down how it was called. */
async function recorder(site: Site, real: KubernetesTools): Promise<Recorder> {
  const [calls, keys] = [join(site.dir, 'calls'), join(site.dir, 'kubeconfig-keys')];
  for (const name of ['kubectl', 'helm'] as const) {
    const write = `{ echo "CALL $0 $*"; env; } >>${calls}; sed -n 's/.*client-key-data: //p' "$KUBECONFIG" >>${keys}`;
    writeProgram(join(site.dir, name), `${write}\nexec ${real[name]} "$@"`);
  }
  return {
    tools: { kubectl: join(site.dir, 'kubectl'), helm: join(site.dir, 'helm') },
    calls: () => readFileSync(calls, 'utf8'),
    keys: () => [...new Set(readFileSync(keys, 'utf8').trim().split('\n'))],
  };
}

async function start(site: Site, port: number, { kubectl, helm }: KubernetesTools): Promise<Appliance> {
  await giveImage(site);
  await writeFile(join(site.inventory, 'example.yaml'), inventoryAt(port));
  await mkdir(join(site.inventory, 'secrets'));
  await writeFile(join(site.inventory, 'secrets/argo'), `${PASSWORD}\n`);
  const steps = join(site.dir, 'steps');
  await mkdir(steps);
  writeProgram(join(steps, 'spill'), SPILL);
  const env = {
    RAILHEAD_KUBECTL: kubectl,
    RAILHEAD_HELM: helm,
    RAILHEAD_POST_INSTALL: steps,
    RAILHEAD_LOG_LEVEL: 'trace',
    HOME: site.dir,
  };
  return launchAppliance(site, { env }).running();
}

type Told = Exclude<KubeadmAnswer, { action: 'none' }>;

async function told(agent: RegisteredAgent): Promise<Told> {
  const { status, answer } = await agent.kubeadm();
  expect(status).toBe(200);
  if (answer.action === 'none') throw new Error('there is nothing to do');
  return answer;
}

/** Everything in an answer that nobody else may know. */
function secretsIn(host: string, { config, files }: Told): Named {
  const found: Named = {};
  for (const { path, content } of files) {
    if (path.endsWith('.key')) found[`${host}: ${path}`] = content;
    const secretbox = /secret: (\S+)/.exec(path.endsWith('encryption.yaml') ? content : '')?.[1];
    if (secretbox !== undefined) found[`${host}: the encryption key`] = secretbox;
  }
  for (const [, id, secret] of config.matchAll(/token: ([a-z0-9]{6})\.([a-z0-9]{16})$/gm)) {
    found[`${host}: bootstrap token ${id}`] = secret!;
  }
  return found;
}

const clusterOf = (appliance: Appliance) => appliance.json<ClusterDescription>('/api/v1/clusters/lab');

describe.skipIf(!isPossible)('a cluster from its first host to its last add-on', () => {
  it('comes up, and none of its secrets is where it must not be', async () => {
    const site = await newSite();
    const real = (await ensureKubernetesTools())!;
    const { tools, calls, keys } = await recorder(site, real);
    let appliance!: Appliance;
    let c1!: RegisteredAgent;
    let first!: Told;
    let processes!: ProcessWatch;
    const cluster = (await StandInCluster.start('lab', async (port) => {
      appliance = await start(site, port, tools);
      processes = new ProcessWatch(appliance.pid);
      c1 = await RegisteredAgent.boot(appliance, MACS.c1);
      first = await told(c1);
      expect(first).toMatchObject({ action: 'init', before: 'nothing' });
      return first;
    }))!;
    onTestFinished(async () => {
      processes.stop();
      await cluster.stop();
    });

    // Its kubeadm has failed, but its API was seen: it goes on with what is there, and kubeadm lets it.
    await until('the API is seen', async () => (await clusterOf(appliance)).api.state === 'up', PATIENCE);
    const again = await told(c1);
    expect(again).toMatchObject({ action: 'init', before: 'resume' });
    expect(again.files).toEqual(first.files);
    expect(secretsIn('c1', again)).toEqual(secretsIn('c1', first));
    const { host } = cluster.plane;
    const preflight = (config: string) => {
      host.write('/tmp/again.yaml', config);
      return host.run('init', 'phase', 'preflight', '--config', '/tmp/again.yaml');
    };
    const inTheWay = 'FileAvailable--etc-kubernetes-manifests-kube-apiserver.yaml';
    expect(preflight(first.config).output).toContain(`[ERROR ${inTheWay}]`);
    expect(preflight(again.config)).toMatchObject({
      code: 0,
      output: expect.stringContaining(`[WARNING ${inTheWay}]`),
    });

    await cluster.addNode('c1', { controlPlane: true, ready: false });
    cluster.plane.bootstrap();
    expect((await c1.report('kubeadm-done')).status).toBe(200);
    const w1 = await RegisteredAgent.boot(appliance, MACS.w1);
    const joining = await until('w1 may join', async () => {
      const { status, answer } = await w1.kubeadm();
      return status === 200 && answer.action === 'join' && answer;
    });
    // Cilium makes nodes Ready: it must not wait for one.
    const status = () => appliance.json<PipelineStatus>('/api/v1/clusters/lab/pipeline');
    await until(
      'the next step waits for a node',
      async () => /cert-manager waits: no node is Ready/.test((await status()).summary),
      PATIENCE,
    );
    await cluster.addNode('w1');
    const stateOfW1 = async () => (await appliance.json<{ state: string }>('/api/v1/hosts/w1')).state;
    await until('w1 is ready', async () => (await stateOfW1()) === 'ready');
    // A report that comes late takes nothing back.
    expect((await w1.report('kubeadm-done')).status).toBe(200);
    expect(await stateOfW1()).toBe('ready');
    await until('the pipeline is done', async () => (await status()).state === 'done', PATIENCE);

    const given = await appliance.cli('kubeconfig', 'lab');
    expect(given).toMatchObject({ code: 0, stderr: '' });
    const kubeconfig = join(site.dir, 'lab.conf');
    await writeFile(kubeconfig, given.stdout, { mode: 0o600 });
    const run = (program: string, args: string[], env: Record<string, string>) =>
      new Started(args, { command: [program], cwd: ROOT, env }).ended;
    const nodes = await run(real.kubectl, ['get', 'nodes', '-o', 'name'], {
      KUBECONFIG: kubeconfig,
      HOME: site.dir,
    });
    expect(nodes).toMatchObject({ code: 0, stdout: 'node/c1\nnode/w1\n' });
    const made = await run('make', ['untaint', 'CLUSTER=lab'], {
      ...siteEnv(site),
      KUBECTL: tools.kubectl,
      HOME: site.dir,
    });
    expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining('node/c1 untainted') });
    const doctor = await appliance.cli('doctor', '--kubectl', real.kubectl, '--helm', real.helm);
    expect(doctor.stdout).toMatch(/^ok +kubectl +v1\.36/m);
    // Of the server that runs, not of one that these settings would start.
    expect(doctor.stdout).toContain(`machines are told to come to ${appliance.url}`);
    expect((await clusterOf(appliance)).api.version).toBe('v1.36.4');

    const secrets: Named = {
      ...secretsIn('c1', first),
      ...secretsIn('w1', joining),
      'the agent of c1': c1.token,
      'the agent of w1': w1.token,
      'the boot of c1': c1.attempt,
      'the boot of w1': w1.attempt,
      'a password': PASSWORD,
      'the admin token': await appliance.token(),
      'the key of a kubeconfig': keyIn(given.stdout),
      ...Object.fromEntries(keys().map((key, index) => [`a key of the appliance ${index}`, decode(key)])),
      ...(await keysOf(appliance)),
    };
    // They are where they must be: else finding none elsewhere would mean nothing.
    const names = Object.keys(secrets).join('\n');
    const keysOfAll = ['ca', 'etcd/ca', 'front-proxy-ca', 'sa'].map((name) => `pki/${name}.key`);
    for (const what of [...keysOfAll, 'the encryption key']) expect(names).toContain(`c1: ${what}`);
    expect(names).toMatch(/c1: bootstrap token[\s\S]*w1: bootstrap token[\s\S]*a key of the appliance 1/);

    const logs = await appliance.cli('pipeline', 'logs', 'lab');
    expect(logs.stdout).toMatch(/client-key-data: <hidden>[\s\S]*"password":"<hidden>"[\s\S]*all was said/);
    expect(calls()).toMatch(/CALL .*helm upgrade --install/);
    const started = Object.entries(processes.seen);
    expect(started.filter(([, text]) => text.includes('RAILHEAD_CLUSTER=lab')).length).toBeGreaterThan(3);
    const ca = await readFile(appliance.dataPath('keys', 'ca.pem'), 'utf8');
    const strangers = await Promise.all(
      [appliance.url, appliance.httpsUrl].map(async (base) =>
        JSON.stringify(await ask(`${base}/agent/v1/kubeadm`, { method: 'POST', ca })),
      ),
    );
    const places: Named = {
      ...(await placesOf(appliance, LOOK)),
      ...processes.seen,
      'calls of kubectl and helm': calls(),
      'what a stranger is told by HTTP': strangers[0]!,
      'what a stranger is told by HTTPS': strangers[1]!,
    };
    const hits = hitsOf(secrets, places);
    console.log(
      `secrets of a cluster: ${Object.keys(secrets).length} looked for in ${Object.keys(places).length} places, ${hits.length} found`,
    );
    expect(hits).toEqual([]);
  });
});

const LOOK = {
  hosts: ['c1', 'w1'],
  queries: {
    '/boot.ipxe': ['?mac=52:54:00:12:34:09'],
    '/api/v1/events': ['?limit=1000'],
    '/api/v1/clusters/:cluster/pipeline/logs': ['', '?limit=1000'],
  },
  commands: [
    ['events'],
    ['host', 'c1'],
    ['cluster', 'list'],
    ['cluster', 'show', 'lab'],
    ['pipeline', 'status', 'lab'],
    ['pipeline', 'logs', 'lab'],
    ['render', 'c1', '--what', 'kubeadm'],
    ['render', 'w1', '--what', 'kubeadm'],
  ],
};

function keyIn(kubeconfig: string): string {
  const { users } = load(kubeconfig) as { users: { user: Record<string, string> }[] };
  return decode(users[0]!.user['client-key-data']!);
}

function decode(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}
