import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { EventOf } from '../../server/events/kinds.ts';
import type { PipelineStatus, StepStatus } from '../../server/pipeline/describe.ts';
import {
  type Appliance,
  edit,
  launchAppliance,
  newSite,
  ROOT,
  type Site,
  Started,
  siteEnv,
} from '../support/appliance.ts';
import { until } from '../support/poll.ts';
import { StandInCluster } from '../support/stand-in-cluster.ts';
import { stored } from '../support/stored.ts';

const cluster = await StandInCluster.start('lab');
vi.setConfig({ testTimeout: 240_000 });
afterAll(() => cluster?.stop());

const CHARTS = join(ROOT, 'test', 'fixtures', 'charts');
const SECRET = 'correct-horse-battery-staple';
const STATUS = '/api/v1/clusters/lab/pipeline';
const PATIENCE = 120_000;

const INVENTORY = `
clusters:
  - name: lab
    kubernetes: 1.36.4
    addons:
      - {name: cilium, path: ${CHARTS}/cilium, values: {image: example.invalid/one}}
      - {name: cert-manager, path: ${CHARTS}/cert-manager}
      - name: argocd
        path: ${CHARTS}/argo-cd
        values: {configs: {secret: {admin.password: {fromEnv: ARGO_PASSWORD}}}}
    pipeline:
      apps: {repository: https://git.example/apps.git}
      steps:
        - untaint
        - {name: install-core, attempts: 2, retrySeconds: 1, timeoutSeconds: 600}
        - install-argo
        - bootstrap-apps
profiles: [{name: flatcar, os: flatcar}]
pools: [{name: control, cluster: lab, role: control-plane, profile: flatcar}]
hosts: [{name: n1, pool: control, macs: ["52:54:00:12:34:01"]}]
`;

/** A site with that inventory, and the kubeconfig of the cluster. */
async function pipelineSite(): Promise<Site> {
  const site = await newSite();
  await writeFile(join(site.inventory, 'example.yaml'), INVENTORY);
  await mkdir(join(site.data, 'kubeconfigs'), { recursive: true });
  await writeFile(join(site.data, 'kubeconfigs', 'lab.yaml'), cluster!.kubeconfig, { mode: 0o600 });
  return site;
}

function start(site: Site): Promise<Appliance> {
  const { kubectl, helm } = cluster!.tools;
  const env = { RAILHEAD_KUBECTL: kubectl, RAILHEAD_HELM: helm, ARGO_PASSWORD: SECRET, HOME: site.dir };
  return launchAppliance(site, { env }).running();
}

async function settled(appliance: Appliance, state = 'done'): Promise<PipelineStatus> {
  return until(
    `the pipeline is ${state}`,
    async () => {
      const status = await appliance.json<PipelineStatus>(STATUS);
      return status.state === state && status;
    },
    PATIENCE,
  );
}

async function states(appliance: Appliance): Promise<Record<string, string>> {
  const { steps } = await appliance.json<PipelineStatus>(STATUS);
  return Object.fromEntries(steps.map(({ name, state }) => [name, state]));
}

async function logOf(appliance: Appliance): Promise<string> {
  const pieces = await appliance.json<{ text: string }[]>(`${STATUS}/logs`);
  return pieces.map(({ text }) => text).join('');
}

/** How often each step was begun. */
async function begun(appliance: Appliance): Promise<Record<string, number>> {
  const events = await appliance.events('kind=pipeline.step-started&limit=1000');
  const counts: Record<string, number> = {};
  for (const { data } of events as EventOf<'pipeline.step-started'>[]) {
    counts[data.step] = (counts[data.step] ?? 0) + 1;
  }
  return counts;
}

const STEPS = [
  'untaint',
  'install-core:cilium',
  'install-core:cert-manager',
  'install-argo',
  'bootstrap-apps',
];
const all = <T>(value: T): Record<string, T> => Object.fromEntries(STEPS.map((name) => [name, value]));

/** Arguments of every process there is; of some, also while they are no more. */
function commandLines(): string {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, 'utf8');
      } catch {
        return '';
      }
    })
    .join('\n');
}

describe.skipIf(cluster === undefined)('the pipeline of an appliance, on a real API with real charts', () => {
  it('comes up by itself, is on the page, does nothing twice, upgrades what has changed, and keeps secrets', async () => {
    await cluster!.addNode('n1', { controlPlane: true });
    const site = await pipelineSite();
    const seen: string[] = [];
    const watching = setInterval(() => seen.push(commandLines()), 20);
    const first = await start(site);
    await settled(first);
    clearInterval(watching);
    expect(await states(first)).toEqual(all('done'));
    expect(await begun(first)).toEqual(all(1));
    const logs = await first.cli('pipeline', 'logs', 'lab');
    expect(logs.stdout).toMatch(
      /node\/n1 untainted[\s\S]*cilium works[\s\S]*cert-manager works[\s\S]*Argo CD works/,
    );
    const page = (await first.ask('/clusters/lab')).body;
    expect(page).toContain('the root application is synced and healthy');
    expect(page).toContain('1 of 1 Ready');

    const secret = await cluster!.get<{ data: Record<string, string> }>(
      '/api/v1/namespaces/argocd/secrets/argocd-secret',
    );
    expect(Buffer.from(secret.data['admin.password']!, 'base64').toString()).toBe(SECRET);
    const hidden = [SECRET, Buffer.from(SECRET).toString('base64')];
    const key = /client-key-data: (\S+)/.exec(cluster!.kubeconfig)![1]!;
    await first.stop();
    const { events } = await stored(site);
    const database = await readFile(join(site.data, 'railhead.db'), 'latin1');
    const said = [seen.join('\n'), logs.stdout, page, first.output, JSON.stringify(events), database];
    expect(seen.join('\n')).toMatch(/helm[\s\S]*upgrade[\s\S]*--install/);
    for (const word of [...hidden, key]) for (const text of said) expect(text.includes(word)).toBe(false);
    expect(readdirSync(join(site.data, 'pipeline-runs'))).toEqual([]);

    const second = await start(site);
    await settled(second);
    expect(await begun(second)).toEqual(all(1));
    await edit(site, (text) => text.replace('example.invalid/one', 'example.invalid/two'));
    await until(
      'Cilium is upgraded',
      async () => (await begun(second))['install-core:cilium'] === 2,
      PATIENCE,
    );
    await settled(second);
    expect(await begun(second)).toEqual({ ...all(1), 'install-core:cilium': 2 });
    const daemonset = await cluster!.get('/apis/apps/v1/namespaces/kube-system/daemonsets/cilium');
    expect(daemonset).toMatchObject({
      spec: { template: { spec: { containers: [{ image: 'example.invalid/two' }] } } },
    });

    await edit(site, (text) => text.replace('image: example.invalid/two', 'broken: true'));
    const failed = await settled(second, 'failed');
    expect(failed.summary).toMatch(/install-core:cilium failed: exit 1: .*broken on purpose/);
    expect(await begun(second)).toEqual({ ...all(1), 'install-core:cilium': 4 });
    const status = await second.cli('pipeline', 'status', 'lab', '--json');
    expect(status.code).toBe(1);
    const steps = JSON.parse(status.stdout) as StepStatus[];
    expect(steps.find(({ state }) => state === 'failed')).toMatchObject({
      name: 'install-core:cilium',
      attempts: 2,
    });
    await edit(site, (text) => text.replace('broken: true', 'image: example.invalid/three'));
    await settled(second);
    const again = await second.cli('pipeline', 'run', 'lab', 'install-argo');
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('Argo CD works') });
    expect(await begun(second)).toEqual({ ...all(1), 'install-core:cilium': 5, 'install-argo': 2 });
    const unknown = await second.cli('pipeline', 'run', 'lab', 'instal-argo');
    expect(unknown).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('did you mean "install-argo"?'),
    });
  });

  it('goes on where it was after kill -9', async () => {
    const site = await pipelineSite();
    cluster!.broken.add('cilium-operator');
    await edit(site, (text) => text.replace('example.invalid/one', 'example.invalid/four'));
    const first = await start(site);
    const following = new Started(['pipeline', 'logs', 'lab', '--follow'], {
      cwd: site.dir,
      env: siteEnv(site),
    });
    onTestFinished(() => void following.kill());
    await until(
      'it waits in the middle of a step',
      async () => (await logOf(first)).includes('waiting for Deployment/cilium-operator'),
      PATIENCE,
    );
    // It has to have found the server before that is gone.
    await until('the log is followed', () =>
      following.stdout.includes('waiting for Deployment/cilium-operator'),
    );
    await first.kill();
    expect(readdirSync(join(site.data, 'pipeline-runs'))).not.toEqual([]);
    cluster!.broken.delete('cilium-operator');
    const second = await start(site);
    await settled(second);
    expect(await begun(second)).toEqual({ ...all(1), 'install-core:cilium': 2 });
    const started = (await second.events('kind=pipeline.step-started')) as EventOf<'pipeline.step-started'>[];
    expect(started.map(({ data }) => [data.step, data.attempt, data.resumed]).slice(1, 3)).toEqual([
      ['install-core:cilium', 1, false],
      ['install-core:cilium', 1, true],
    ]);
    // Who follows the log is taken along over the restart, and hears nothing twice.
    await until('all was heard', () => following.stdout.includes('synced and healthy'));
    expect(following.stdout.match(/install-core:cilium: attempt 1/g)).toHaveLength(2);
    expect(following.stdout.match(/untaint: attempt/g)).toHaveLength(1);
    const doctor = await second.cli(
      'doctor',
      '--kubectl',
      cluster!.tools.kubectl,
      '--helm',
      cluster!.tools.helm,
    );
    expect(doctor.stdout).toMatch(/^ok +kubectl +v1\.36\.3[\s\S]*^ok +helm +v4\.2\.3/m);
    expect(doctor.stdout).toMatch(/^ok +chart source .*charts\/cilium is there/m);
    expect(doctor.stdout).toMatch(/^ok +clock/m);
    expect(readdirSync(join(site.data, 'pipeline-runs'))).toEqual([]);
    await second.stop();
  });
});
