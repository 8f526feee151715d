import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ensureAuthority } from '../../server/access/certificate.ts';
import { toNode } from '../../server/cluster/kubernetes-api.ts';
import { RailheadError } from '../../server/errors.ts';
import { observationOf } from '../../server/pipeline/cluster-access.ts';
import { baseEnvironment, proxyPasswords, withoutProxyTo } from '../../server/pipeline/environment.ts';
import { fillSecrets, fingerprint, hashTree } from '../../server/pipeline/inputs.ts';
import { foreignness, readKubeconfig } from '../../server/pipeline/kubeconfig.ts';
import { Lines } from '../../server/pipeline/lines.ts';
import type { PlannedStep } from '../../server/pipeline/plan.ts';
import { Redactor } from '../../server/pipeline/redact.ts';
import { tempFolder } from '../support/temp.ts';
import { KUBECONFIG } from './make.ts';

const STEP: PlannedStep = {
  name: 'x',
  script: 'x',
  args: [],
  need: 'api',
  timeoutMs: 1,
  attempts: 1,
  retryMs: 1,
  env: { A: '1' },
  files: {},
  paths: [],
  tools: [],
  perNode: false,
};

describe('what a step is given', () => {
  const options = {
    readSecret: (reference: object) => `secret of ${JSON.stringify(reference)}`,
    ownScript: () => undefined,
    hash: (text: string) => text,
  };

  it('has its secrets filled in, wherever they are, and they are known', () => {
    const files = {
      V: { a: [{ b: { fromEnv: 'X' } }], c: { fromFile: 'f' }, d: { fromFile: 'f', other: 1 } },
    };
    expect(fillSecrets(files, (reference) => Object.values(reference)[0] as string)).toEqual({
      files: { V: { a: [{ b: 'X' }], c: 'f', d: { fromFile: 'f', other: 1 } } },
      secrets: ['X', 'f'],
    });
  });

  it('has another name when anything of it is different, and only then', async () => {
    const chart = join(await tempFolder(), 'chart');
    mkdirSync(join(chart, 'templates'), { recursive: true });
    writeFileSync(join(chart, 'templates', 'a.yaml'), 'a');
    const base = { ...STEP, files: { V: { p: { fromEnv: 'P' }, q: 1 } }, paths: [chart] };
    const name = fingerprint(base, options);
    expect(fingerprint({ ...base, files: { V: { q: 1, p: { fromEnv: 'P' } } } }, options)).toBe(name);
    expect(fingerprint({ ...base, timeoutMs: 99 }, options)).toBe(name);
    expect(fingerprint({ ...base, env: { A: '2' } }, options)).not.toBe(name);
    expect(fingerprint({ ...base, args: ['z'] }, options)).not.toBe(name);
    expect(fingerprint(base, { ...options, readSecret: () => 'another' })).not.toBe(name);
    writeFileSync(join(chart, 'templates', 'a.yaml'), 'b');
    expect(fingerprint(base, options)).not.toBe(name);
  });

  it('can be missing, with the reason', () => {
    const readSecret = () => {
      throw new RailheadError('RH_SECRET_MISSING', 'The environment has no variable P.');
    };
    const step = { ...STEP, files: { V: { p: { fromEnv: 'P' } } } };
    expect(fingerprint(step, { ...options, readSecret })).toEqual({
      missing: 'The environment has no variable P.',
    });
    expect(fingerprint({ ...STEP, paths: ['/no/chart'] }, options)).toEqual({
      missing: '/no/chart is not there',
    });
  });

  it('tells files of the same content but another name apart', async () => {
    const [one, two] = [await tempFolder(), await tempFolder()];
    writeFileSync(join(one, 'a'), 'x');
    writeFileSync(join(two, 'b'), 'x');
    expect(hashTree(one)).not.toBe(hashTree(two));
  });
});

describe('a log', () => {
  const cleaned = (secrets: string[], ...chunks: string[]): string[] => {
    const lines: string[] = [];
    const reader = new Lines(new Redactor(secrets), (line) => lines.push(line));
    for (const chunk of chunks) reader.write(Buffer.from(chunk));
    reader.end();
    return lines;
  };

  it('has lines, however they come, and no orders to a terminal', () => {
    expect(cleaned([], 'a\nb', 'c\r\n', '\u001b[31mred\u001b[0m\u0000 ü\npart 1\rpart 2\nend')).toEqual([
      'a',
      'bc',
      'red ü',
      'part 1',
      'part 2',
      'end',
    ]);
  });

  it.each([
    ['plain', 'pass s3cr3t! here'],
    ['in base64', `x ${Buffer.from('s3cr3t!').toString('base64')}`],
    ['in a URL', 'https://u:s3cr3t!@host'],
    ['cut in two by the pipe', 's3c', 'r3t! and on'],
  ])('has no secret that is %s', (_how, ...chunks) => {
    const text = cleaned(['s3cr3t!'], ...chunks).join('\n');
    expect(text).toContain('<hidden>');
    expect(text).not.toMatch(/s3cr3t|czNjcjN0/);
  });

  it('has no line of a key, and no secret in a line without an end', () => {
    const key = '-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMG\nzzzzyyyyxxxx\n-----END PRIVATE KEY-----\n';
    expect(cleaned([key], key)).toEqual([
      '-----BEGIN PRIVATE KEY-----',
      '<hidden>',
      '<hidden>',
      '-----END PRIVATE KEY-----',
    ]);
    for (let before = 16_370; before < 16_400; before++) {
      const text = cleaned(
        ['a-secret-word'],
        'x'.repeat(before),
        'a-secret-',
        'word',
        'y'.repeat(20_000),
      ).join('');
      expect(text).not.toContain('a-secret-word');
      expect(text.length).toBe(before + '<hidden>'.length + 20_000);
    }
  });

  it('keeps words that are too short to be a secret', () => {
    expect(cleaned(['ab', ''], 'a cab')).toEqual(['a cab']);
  });
});

describe('a kubeconfig', () => {
  it('says where it leads, and what nobody may see', () => {
    expect(readKubeconfig(KUBECONFIG)).toEqual({
      server: 'https://127.0.0.1:9',
      authority: undefined,
      secrets: ['token-of-the-kubeconfig'],
    });
  });

  it.each([
    ['', /is empty/],
    ['[', /no YAML/],
    ['{}', /no current context/],
    ['{current-context: a, contexts: [{name: b, context: {}}]}', /no current context/],
    ['{current-context: a, contexts: [{name: a, context: {cluster: c}}]}', /names no server/],
    [KUBECONFIG.replace('server:', 'certificate-authority-data: eA==, server:'), /CA certificate .* is none/],
  ])('that is wrong is refused: %s', (text, fault) => {
    expect(readKubeconfig(text)).toMatchObject({ fault: expect.stringMatching(fault) });
  });

  it('of another cluster is known by its CA', async () => {
    const [ours, theirs] = [
      await ensureAuthority(await tempFolder(), new Date()),
      await ensureAuthority(await tempFolder(), new Date()),
    ].map(({ certificatePem }) => certificatePem);
    const data = Buffer.from(ours!).toString('base64');
    const kubeconfig = readKubeconfig(
      KUBECONFIG.replace('server:', `certificate-authority-data: ${data}, server:`),
    );
    if ('fault' in kubeconfig) throw new Error(kubeconfig.fault);
    const judged = (authorityPem: string | undefined) =>
      foreignness(kubeconfig, { cluster: 'lab', authorityPem });
    expect(judged(ours)).toBeUndefined();
    expect(judged(undefined)).toBeUndefined();
    expect(judged(theirs)).toMatch(/for another cluster: its CA certificate is not that of lab/);
  });
});

it('sees which nodes are Ready, and which take pods', () => {
  const ready = { conditions: [{ type: 'Ready', status: 'True' }] };
  const nodes = [
    { status: ready },
    { status: ready, spec: { taints: [{ key: 'x', effect: 'NoSchedule' }] } },
    { status: ready, spec: { taints: [{ key: 'x', effect: 'NoExecute' }] } },
    { status: ready, spec: { taints: [{ key: 'x', effect: 'PreferNoSchedule' }] } },
    { status: ready, spec: { unschedulable: true } },
    { status: { conditions: [{ type: 'Ready', status: 'False' }] } },
    {},
  ].map(toNode);
  expect(observationOf(nodes)).toEqual({ apiReady: true, nodesReady: 5, schedulable: 2 });
  expect(observationOf([])).toEqual({ apiReady: true, nodesReady: 0, schedulable: 0 });
});

describe('the environment of a step', () => {
  it('has what programs need, and nothing of the appliance itself', () => {
    const env = {
      PATH: '/p',
      HOME: '/h',
      DATABASE_URL: 'x',
      RAILHEAD_PASSPHRASE: 'x',
      HELM_DEBUG: '1',
      HELM_KUBETOKEN: 'x',
    };
    expect(baseEnvironment(env, {})).toEqual({ PATH: '/p', HOME: '/h', LANG: 'C.UTF-8', HELM_DEBUG: '1' });
    expect(baseEnvironment({}, {}).PATH).toContain('/usr/bin');
  });

  it('has proxies, but none to the API', () => {
    const env = baseEnvironment({}, { httpsProxy: 'http://proxy:1', noProxy: 'a' });
    expect(withoutProxyTo(env, 'https://[fd00::1]:6443')).toMatchObject({
      HTTPS_PROXY: 'http://proxy:1',
      NO_PROXY: 'a,fd00::1',
    });
    expect(withoutProxyTo({ PATH: '/p' }, 'https://x')).toEqual({ PATH: '/p' });
    expect(proxyPasswords({ HTTPS_PROXY: 'http://u:p%40ss@proxy:1', HTTP_PROXY: 'proxy:1' })).toEqual([
      'p%40ss',
      'p@ss',
    ]);
  });
});
