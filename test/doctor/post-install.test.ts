import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import {
  examineSource,
  judgeClock,
  probeOf,
  type Reached,
  sourcesOf,
} from '../../server/doctor/chart-sources.ts';
import { judgeTool, type ToolFacts } from '../../server/doctor/kubernetes-tools.ts';
import { examinePostInstall } from '../../server/doctor/post-install.ts';
import { readDefaults } from '../../server/pipeline/defaults.ts';
import type { Settings } from '../../server/settings.ts';
import { inventoryOf, writeProgram } from '../pipeline/make.ts';
import { ROOT } from '../support/appliance.ts';
import { tempFolder } from '../support/temp.ts';

const LAB = [{ name: 'lab', kubernetes: '1.36.4' }];
const facts = (
  tool: ToolFacts['tool'],
  version: string | undefined,
  path: string | undefined = '/bin/x',
) => ({
  tool,
  path,
  version,
  get: 'how to get it',
});

describe('a tool', () => {
  it.each<[tool: ToolFacts['tool'], version: string, status: string]>([
    ['kubectl', 'v1.36.3', 'ok'],
    ['kubectl', 'v1.35.0', 'ok'],
    ['kubectl', 'v1.37.1', 'ok'],
    ['kubectl', 'v1.34.9', 'warn'],
    ['kubectl', 'v1.38.0', 'warn'],
    ['helm', 'v4.2.3', 'ok'],
    ['helm', 'v4.0.0', 'warn'],
    ['helm', 'v3.21.0', 'ok'],
    ['helm', 'v3.19.1', 'warn'],
    ['helm', 'v2.17.0', 'warn'],
  ])('%s %s with Kubernetes 1.36: %s', (tool, version, status) => {
    expect(judgeTool(facts(tool, version), LAB)).toMatchObject([{ name: tool, status }]);
  });

  it('that is not there, or is something else, is said with how to get it', () => {
    expect(judgeTool({ ...facts('helm', undefined), path: undefined }, LAB)).toEqual([
      {
        name: 'helm',
        status: 'warn',
        message: "helm is not there: the post-install pipeline can't run without it",
        fix: 'how to get it',
      },
    ]);
    expect(judgeTool(facts('kubectl', undefined), LAB)[0]?.message).toMatch(/doesn't say its version/);
  });

  it('is compared with each cluster', () => {
    const clusters = [...LAB, { name: 'old', kubernetes: '1.33.0' }];
    const [finding, ...more] = judgeTool(facts('kubectl', 'v1.36.3'), clusters);
    expect(more).toEqual([]);
    expect(finding?.message).toBe('v1.36.3 is made for Kubernetes 1.35 to 1.37; old has 1.33.0');
  });
});

it('compares with what a cluster is, where its API was seen, else with what it is to be', async () => {
  const dir = await tempFolder();
  writeProgram(join(dir, 'kubectl'), `echo '{"clientVersion": {"gitVersion": "v1.36.3"}}'`);
  writeProgram(join(dir, 'helm'), 'echo v4.2.3');
  const settings = { kubectl: join(dir, 'kubectl'), helm: join(dir, 'helm'), inventory: dir } as Settings;
  const said = async (clusterVersions: Map<string, string>) =>
    (await examinePostInstall(settings, inventoryOf('addons: []'), { env: {}, clusterVersions }))
      .filter(({ name }) => name === 'kubectl')
      .map(({ status, message }) => `${status} ${message}`);
  expect(await said(new Map())).toEqual([expect.stringMatching(/^ok v1\.36\.3/)]);
  expect(await said(new Map([['lab', 'v1.33.1']]))).toEqual([
    'warn v1.36.3 is made for Kubernetes 1.35 to 1.37; lab has 1.33.1',
  ]);
});

it.each(['kubectl', 'helm'] as const)('%s of the container fits the Kubernetes of the example', (tool) => {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
  const version = new RegExp(`^ARG ${tool.toUpperCase()}=(\\S+)$`, 'm').exec(dockerfile)?.[1];
  const example = readFileSync(join(ROOT, 'inventory', 'example.yaml'), 'utf8');
  const { clusters } = load(example) as { clusters: { name: string; kubernetes: string }[] };
  expect(judgeTool(facts(tool, version), clusters)).toMatchObject([{ name: tool, status: 'ok' }]);
});

describe('a source of charts', () => {
  const options = { defaults: readDefaults(), inventoryDir: '/inventory' };
  const sources = (addons: string) => sourcesOf(inventoryOf(`addons: [${addons}]`), options);
  const examined = async (addons: string, reached: Reached) =>
    (await examineSource(sources(addons)[0]!, async () => reached)).finding;

  it('is asked for what it must have', () => {
    const asked = sources('{name: cilium}, {name: cert-manager}, {name: gateway-api}').map(
      ({ source, charts }) => ('repository' in source ? probeOf(source.repository, charts[0]!) : ''),
    );
    expect(asked).toEqual([
      'https://helm.cilium.io/index.yaml',
      'https://quay.io/v2/',
      expect.stringMatching(/^https:\/\/github.com\/.*\/v1\.[0-9.]+\/standard-install.yaml$/),
    ]);
  });

  it('is named once, whoever needs it', () => {
    const repository = 'repository: "https://charts.example"';
    expect(sources(`{name: cilium, ${repository}}, {name: argocd, ${repository}}`)).toHaveLength(1);
  });

  it.each<[addon: string, reached: Reached, status: string, message: RegExp]>([
    ['{name: cilium}', { status: 200, date: undefined }, 'ok', /helm.cilium.io answers \(cilium\)/],
    ['{name: cert-manager}', { status: 401, date: undefined }, 'ok', /answers/],
    ['{name: cilium}', { status: 404, date: undefined }, 'warn', /answers with 404/],
    ['{name: cilium}', { fault: 'no answer within 5 s' }, 'warn', /\(cilium\): no answer within 5 s/],
    ['{name: cilium, path: nowhere}', { fault: '' }, 'warn', /\/inventory\/nowhere .* no chart/],
  ])('%s that says %o is %s', async (addon, reached, status, message) => {
    expect(await examined(addon, reached)).toMatchObject({ status, message: expect.stringMatching(message) });
  });
});

it.each<[dates: string[], status: string, message: RegExp]>([
  [[], 'ok', /no other clock/],
  [['nonsense'], 'ok', /no other clock/],
  [['Mon, 16 Nov 2026 12:00:10 GMT'], 'ok', /right to within/],
  [['Mon, 16 Nov 2026 11:00:00 GMT'], 'fail', /3600 s ahead/],
  [['Mon, 16 Nov 2026 13:00:00 GMT'], 'fail', /3600 s behind/],
])('judges the clock by %o', (dates, status, message) => {
  const now = Date.parse('2026-11-16T12:00:00Z');
  expect(judgeClock(dates, now)).toMatchObject({ status, message: expect.stringMatching(message) });
});
