import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ensureParts } from '../../../scripts/lib/parts.mjs';
import { ROOT } from '../../support/appliance.ts';
import { StandInCluster } from '../../support/stand-in-cluster.ts';
import { tempFolder } from '../../support/temp.ts';

vi.setConfig({ hookTimeout: 600_000 });

const SCRIPTS = join(ROOT, 'scripts', 'post-install');
const CHARTS = join(ROOT, 'test', 'fixtures', 'charts');
const cluster = await StandInCluster.start('lab');
afterAll(() => cluster?.stop());

interface Ended {
  code: number | null;
  output: string;
}

function run(script: string, args: readonly string[] = [], env: Record<string, string> = {}): Promise<Ended> {
  return runProgram(join(SCRIPTS, script), args, {
    PATH: '/usr/bin:/bin',
    HOME: '/nonexistent',
    KUBECONFIG: cluster!.plane.superAdminFile,
    KUBECTL: cluster!.tools.kubectl,
    HELM: cluster!.tools.helm,
    CILIUM_PATH: join(CHARTS, 'cilium'),
    CERT_MANAGER_PATH: join(CHARTS, 'cert-manager'),
    ARGOCD_PATH: join(CHARTS, 'argo-cd'),
    WAIT_SECONDS: '30',
    ...env,
  });
}

function runProgram(
  program: string,
  args: readonly string[],
  env: Record<string, string | undefined>,
): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { env });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk;
    });
    child.stderr.on('data', (chunk: Buffer) => {
      output += chunk;
    });
    child.once('close', (code) => resolve({ code, output }));
  });
}

async function valuesOfCilium(): Promise<Record<string, unknown>> {
  const map = await cluster!.get<{ data: { values: string } }>(
    '/api/v1/namespaces/kube-system/configmaps/cilium-config',
  );
  return JSON.parse(map.data.values) as Record<string, unknown>;
}

describe.skipIf(cluster === undefined)('the steps, run by hand with helm and kubectl on a real API', () => {
  beforeAll(async () => {
    await cluster!.addNode('n1', { controlPlane: true });
  });

  it('untaint takes the taint away, and has nothing to do the second time', async () => {
    expect(await run('untaint')).toMatchObject({
      code: 0,
      output: expect.stringContaining('node/n1 untainted'),
    });
    const again = await run('untaint');
    expect(again.code).toBe(0);
    expect(again.output).not.toContain('untainted');
  });

  it('install-core installs Cilium for this cluster, and cert-manager until it takes an Issuer', async () => {
    const ended = await run('install-core', [], { POD_CIDRS: '10.244.0.0/16 fd00::/48' });
    expect(ended.output).toMatch(/cilium works[\s\S]*cert-manager works/);
    expect(ended.code).toBe(0);
    expect(await valuesOfCilium()).toMatchObject({
      kubeProxyReplacement: true,
      k8sServicePort: cluster!.plane.port,
      rollOutCiliumPods: true,
      operator: { replicas: 1 },
      ipv6: { enabled: true },
      ipam: {
        mode: 'cluster-pool',
        operator: {
          clusterPoolIPv4PodCIDRList: ['10.244.0.0/16'],
          clusterPoolIPv6PodCIDRList: ['fd00::/48'],
        },
      },
    });
  });

  it('takes the values of a person over its own', async () => {
    const folder = await tempFolder();
    await writeFile(join(folder, 'values.yaml'), 'operator: {replicas: 3}\nk8sServiceHost: 10.9.9.9\n');
    const ended = await run('install-core', ['cilium'], { CILIUM_VALUES: join(folder, 'values.yaml') });
    expect(ended.code).toBe(0);
    expect(await valuesOfCilium()).toMatchObject({ k8sServiceHost: '10.9.9.9', operator: { replicas: 3 } });
  });

  it('brings the CRDs of the Gateway API before Cilium, when asked', async () => {
    const env = { GATEWAY_API_PATH: join(CHARTS, 'gateway-api.yaml') };
    const ended = await run('install-core', ['gateway-api', 'cilium'], env);
    expect(ended.output).toMatch(/gateway-api works[\s\S]*accept its GatewayClass[\s\S]*cilium works/);
    expect(await valuesOfCilium()).toMatchObject({
      gatewayAPI: { enabled: true },
      // Other CRDs start it anew: it looks for them only then.
      operator: { rollOutPods: true, podAnnotations: { 'railhead/gateway-api': env.GATEWAY_API_PATH } },
    });
  });

  it('does not take Cilium for working that leaves the Gateway API alone', async () => {
    cluster!.broken.add('gatewayclass');
    onTestFinished(() => void cluster!.broken.delete('gatewayclass'));
    await cluster!.ask('DELETE', '/apis/gateway.networking.k8s.io/v1/gatewayclasses/cilium');
    const env = { GATEWAY_API_PATH: join(CHARTS, 'gateway-api.yaml'), WAIT_SECONDS: '15' };
    const ended = await run('install-core', ['gateway-api', 'cilium'], env);
    expect(ended.output).toMatch(
      /has not accepted its GatewayClass: do the CRDs of .*gateway-api.yaml fit it\?/,
    );
    expect(ended.code).not.toBe(0);
  });

  it('run by make, too', async () => {
    const { superAdminFile } = cluster!.plane;
    const variables = [`KUBECONFIG=${superAdminFile}`, `KUBECTL=${cluster!.tools.kubectl}`, 'CLUSTER=lab'];
    const made = await runProgram('make', ['-C', ROOT, '--no-print-directory', 'untaint', ...variables], {
      PATH: process.env.PATH!,
      // Without a home, kubectl keeps its cache where it runs: in the checkout.
      HOME: await tempFolder(),
      KUBECTL: cluster!.tools.kubectl,
    });
    expect(made).toMatchObject({
      code: 0,
      output: expect.stringContaining('none of them with a control-plane'),
    });
    const lost = await runProgram('make', ['-C', ROOT, 'untaint'], { PATH: process.env.PATH! });
    expect(lost).toMatchObject({ code: 2, output: expect.stringContaining('Which cluster?') });
  });

  it('is not content with a helm that returned: a workload that does not get ready is a failure', async () => {
    cluster!.broken.add('cilium-operator');
    onTestFinished(() => void cluster!.broken.delete('cilium-operator'));
    const folder = await tempFolder();
    await writeFile(join(folder, 'values.yaml'), 'image: example.invalid/other\n');
    const env = { WAIT_SECONDS: '15', CILIUM_VALUES: join(folder, 'values.yaml') };
    const ended = await run('install-core', ['cilium'], env);
    expect(ended.output).toMatch(/waiting for Deployment\/cilium-operator[\s\S]*timed out/);
    expect(ended.code).not.toBe(0);
  });

  it('goes on after a helm that was killed, when it may', async () => {
    // What such a one leaves behind: the newest release is pending for ever.
    const path = '/api/v1/namespaces/kube-system/secrets';
    const { items } = await cluster!.get<{
      items: { metadata: { name: string; labels?: Record<string, string> } }[];
    }>(`${path}?labelSelector=owner%3Dhelm%2Cname%3Dcilium`);
    const newest = items
      .toSorted((a, b) => Number(a.metadata.labels?.version) - Number(b.metadata.labels?.version))
      .at(-1)!;
    const secret = await cluster!.get<{ data: { release: string } }>(`${path}/${newest.metadata.name}`);
    const packed = Buffer.from(Buffer.from(secret.data.release, 'base64').toString(), 'base64');
    const release = JSON.parse(gunzipSync(packed).toString()) as { info: { status: string } };
    release.info.status = 'pending-upgrade';
    const again = Buffer.from(gzipSync(JSON.stringify(release)).toString('base64')).toString('base64');
    await cluster!.ask('PATCH', `${path}/${newest.metadata.name}`, {
      metadata: { labels: { status: 'pending-upgrade' } },
      data: { release: again },
    });
    const refused = await run('install-core', ['cilium']);
    expect(refused.code).not.toBe(0);
    expect(refused.output).toMatch(/another operation .* is in progress/);
    expect(await run('install-core', ['cilium'], { RAILHEAD_RESUMED: '1' })).toMatchObject({ code: 0 });
  });

  it('install-argo and bootstrap-apps bring Argo CD and its root application', async () => {
    expect(await run('install-argo')).toMatchObject({
      code: 0,
      output: expect.stringMatching(/Argo CD works/),
    });
    const ended = await run('bootstrap-apps', [], { APPS_REPOSITORY: 'https://git.example/apps.git' });
    expect(ended).toMatchObject({ code: 0, output: expect.stringMatching(/synced and healthy/) });
    expect(
      await cluster!.get('/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/root'),
    ).toMatchObject({
      spec: { source: { repoURL: 'https://git.example/apps.git', path: 'apps', targetRevision: 'HEAD' } },
    });
  });

  it.each<[what: string, script: string, args: string[], env: Record<string, string>, said: RegExp]>([
    [
      'a kubeconfig for another cluster',
      'untaint',
      [],
      { RAILHEAD_CLUSTER_UID: 'another' },
      /another cluster/,
    ],
    ['no kubeconfig', 'untaint', [], { KUBECONFIG: '' }, /KUBECONFIG is not set: railhead kubeconfig/],
    [
      'a helm that is not there',
      'install-argo',
      [],
      { HELM: 'no-such-helm' },
      /the program helm is not there \(no-such-helm\)/,
    ],
    [
      'a kubectl that is not there',
      'untaint',
      [],
      { KUBECTL: '/no/kubectl' },
      /the program kubectl is not there/,
    ],
    ['a part that is not there', 'install-core', ['celium'], {}, /there is no part celium/],
    [
      'a chart that is not there',
      'install-argo',
      [],
      { ARGOCD_PATH: '/no/chart' },
      /there is no chart at \/no\/chart/,
    ],
    ['no repository of applications', 'bootstrap-apps', [], {}, /APPS_REPOSITORY is not set/],
  ])('refuse %s', async (_what, script, args, env, said) => {
    const ended = await run(script, args, env);
    expect(ended.output).toMatch(said);
    expect(ended.code).not.toBe(0);
  });

  // The source never answers: the step must end all the same.
  it('give up on a chart source that hangs, before the cluster is touched', async () => {
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void silent.close());
    const { port } = silent.address() as { port: number };
    const ended = await run('install-argo', [], {
      ARGOCD_PATH: '',
      ARGOCD_REPOSITORY: `https://127.0.0.1:${port}`,
      CHART_SECONDS: '2',
      HOME: await tempFolder(),
    });
    expect(ended.output).toMatch(/gave no chart within 2 s/);
    expect(ended.output).not.toMatch(/installing/);
  });
});

describe('the steps', () => {
  const scripts = ['untaint', 'install-core', 'install-argo', 'bootstrap-apps'];

  it.each(scripts)('%s explains itself', async (script) => {
    const child = spawn(join(SCRIPTS, script), ['--help'], { env: { PATH: '/usr/bin:/bin' } });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk;
    });
    expect(await new Promise((resolve) => child.once('close', resolve))).toBe(0);
    expect(output).toMatch(/^Usage: KUBECONFIG=FILE/);
  });

  it('are clean shell scripts', async (context) => {
    const { shellcheck } = await ensureParts(['shellcheck']);
    if (shellcheck === undefined) return context.skip();
    const { path, loader, env } = shellcheck;
    const [program = '', ...args] = [...loader, path, '--shell=sh', '--severity=warning', '-x', '-P', ROOT];
    const files = [...scripts, 'lib/common.sh', 'lib/by-hand.sh'].map((name) => join(SCRIPTS, name));
    const child = spawn(program, [...args, ...files], { env: { PATH: '/usr/bin:/bin', ...env } });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk;
    });
    await new Promise((resolve) => child.once('close', resolve));
    expect(output).toBe('');
  });
});
