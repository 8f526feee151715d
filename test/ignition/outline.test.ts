import { describe, expect, it, vi } from 'vitest';
import { DataUrlCache } from '../../server/ignition/butane/data-url.ts';
import type { FilesReader } from '../../server/ignition/butane/files.ts';
import { composeConfig, writeConfig } from '../../server/ignition/compose.ts';
import { MAX_CONFIG_BYTES } from '../../server/ignition/layers.ts';
import { Outline } from '../../server/ignition/outline.ts';
import { OutlineCache } from '../../server/ignition/outline-cache.ts';
import { toBuffer } from '../../server/ignition/sheet.ts';
import { TemplateSet } from '../../server/templating/template-set.ts';
import { lab } from '../inventory/make.ts';
import { faultsOf, HEAD, rendererFor } from './make.ts';

type Values = Record<string, unknown>;

interface Templates {
  templates: Readonly<Record<string, string>>;
  files?: FilesReader;
}

const sourcesOf = ({ templates, files = readerOf('local') }: Templates) => ({
  sources: { set: new TemplateSet(new Map(Object.entries(templates))), files },
  layers: Object.keys(templates),
});

/** What a host with these values gets in a world of its own, or what is wrong: in one line, and for people. */
function alone(of: Templates, values: Values): string[] {
  const { sources, layers } = sourcesOf(of);
  const composed = composeConfig(sources, layers, values);
  if ('problems' in composed) return [...faultsOf(composed), ...faultsOf(composed)];
  const { config } = composed;
  return [JSON.stringify(config), `${JSON.stringify(config, null, 2)}\n`];
}

/** What these hosts get one after the other, with what was kept of the ones before. */
function together(of: Templates, hosts: readonly Values[]): string[][] {
  const { sources, layers } = sourcesOf(of);
  const caches = { dataUrls: new DataUrlCache(), outlines: new OutlineCache() };
  return hosts.map((values) => {
    const made = [0, 2].map((indent) => writeConfig(sources, layers, values, caches, indent));
    return made.flatMap((one) => ('problems' in one ? faultsOf(one) : [toBuffer(one).toString()]));
  });
}

function readerOf(content: string): FilesReader {
  return { read: vi.fn(() => Buffer.from(content)), walk: () => [] };
}

const files = (...entries: string[]) =>
  `${HEAD}storage:\n  files:\n${entries.map((entry) => `    - ${entry}\n`).join('')}`;
const NAMES: Values[] = [{ x: 'n1' }, { x: 'n2' }, { x: 'n1' }, { x: 'long '.repeat(100) }, { x: '' }];

/** Templates, and hosts that they are rendered for. */
const CASES: Record<string, { templates: Record<string, string>; hosts?: Values[] }> = {
  'values in contents': { templates: { a: files('{path: /a, contents: {inline: "name={{x}}\\n"}}') } },
  'values in additions, beside other ones': {
    templates: { a: files('{path: /a, append: [{inline: "same"}, {inline: "{{x}}"}, {source: "data:,a"}]}') },
  },
  'values in contents and elsewhere': {
    templates: { a: files('{path: "/a/{{y}}", contents: {inline: "{{x}}"}}') },
    hosts: [
      { x: 'a', y: 'a' },
      { x: 'b', y: 'a' },
      { x: 'b', y: 'b' },
    ],
  },
  'one value in contents and, by an alias, elsewhere': {
    templates: { a: files('{path: /a, contents: {inline: &x "/{{x}}"}}', '{path: *x}') },
    hosts: [{ x: 'b' }, { x: 'c' }],
  },
  'contents that some of them have in common': {
    templates: {
      a: files('{path: /a, contents: {inline: "{{x}}"}}', '{path: /b, contents: {inline: "{{y}}"}}'),
    },
    hosts: [
      { x: 'a', y: 'same' },
      { x: 'b', y: 'same' },
      { x: 'c', y: 'same' },
      { x: 'c', y: 'another' },
      { x: 'a', y: 'same '.repeat(100) },
      { x: 'a', y: 'same' },
    ],
  },
  'contents behind an alias': {
    templates: { a: files('{path: /a, contents: &c {inline: "{{x}}"}}', '{path: /b, contents: *c}') },
  },
  'contents that say how they are compressed': {
    templates: { a: files('{path: /a, contents: {inline: "{{x}}", compression: gzip}}') },
  },
  'contents whose compression is a value, and its name is, too': {
    templates: { a: files('{path: /a, contents: {inline: "{{x}}", "{{k}}": "{{v}}"}}') },
    hosts: [
      { x: 'a', k: 'compression', v: 'gzip' },
      { x: 'b', k: 'compression', v: 'gzip' },
      { x: 'b', k: 'compression', v: '' },
      { x: 'b', k: 'source', v: '' },
    ],
  },
  'a value that keeps its type': {
    templates: { a: files('{path: /a, contents: {inline: {{x}} }}') },
    hosts: [{ x: 'text' }, { x: 5 }, { x: null }, { x: true }, { x: Number.POSITIVE_INFINITY }, { x: [] }],
  },
  'values that JSON writes alike': {
    templates: { a: files('{path: /a, mode: {{x}} }') },
    hosts: [{ x: null }, { x: Number.POSITIVE_INFINITY }, { x: Number.NaN }],
  },
  'contents that a layer on top replaces': {
    templates: {
      a: files('{path: /a, contents: {inline: "{{x}}"}}', '{path: /b, contents: {inline: "{{x}}!"}}'),
      b: files('{path: /a, contents: {source: "http://a/b"}}', '{path: /c, contents: {inline: "{{x}}?"}}'),
    },
  },
  'contents that a layer on top replaces, and says all about': {
    templates: {
      a: files('{path: /a, contents: {inline: "{{x}}"}}', '{path: /b, contents: {inline: "{{x}}!"}}'),
      b: files('{path: /a, contents: {inline: "mine"}}'),
    },
  },
  'contents on which a layer on top puts others': {
    templates: {
      a: files('{path: /a, mode: 0600, contents: {inline: "{{x}}"}}'),
      b: files('{path: /a, contents: {inline: "{{x}}{{x}}", verification: {}}}'),
    },
  },
  'a layer that is there only for some': {
    templates: { a: `${files('{path: /a, contents: {inline: "{{x}}"}}')}{{#if y}}    - path: /y\n{{/if}}` },
    hosts: [
      { x: 'a', y: true },
      { x: 'b', y: false },
      { x: 'c', y: true },
    ],
  },
  'values in units': {
    templates: {
      a: `${HEAD}systemd:\n  units:\n    - name: a.service\n      contents: |\n        [Unit]\n        Description={{x}}\n`,
    },
    hosts: [{ x: 'a' }, { x: 'b' }, { x: 'a\nExecStart=/b' }, { x: 'a' }],
  },
  'contents of local files': {
    templates: {
      a: files('{path: /a, contents: {local: a}}', '{path: /b, contents: {inline: "{{x}}"}}'),
    },
  },
  'configs inside of a config': {
    templates: { a: `${HEAD}ignition:\n  config:\n    merge: [{inline: "{{x}}"}]\n` },
    hosts: [{ x: '{"ignition": {"version": "3.3.0"}}' }, { x: 'no config' }],
  },
  'a fault in one of them': {
    templates: { a: files('{path: "{{y}}", contents: {inline: "{{x}}"}}') },
    hosts: [
      { x: 'a', y: '/a' },
      { x: 'b', y: 'b' },
      { x: 'c', y: '/a' },
      { x: 'd', y: 'b' },
    ],
  },
  'a fault in all of them, at two places of the same text': {
    templates: {
      a: `${files()}{{#if y}}    - {path: "a", contents: {inline: "{{x}}"}}\n{{else}}    - {path: "a", contents: {inline: "{{x}}"}}\n{{/if}}`,
    },
    hosts: [
      { x: 'a', y: true },
      { x: 'a', y: false },
    ],
  },
  'what has no value': {
    templates: { a: files('{path: /a, contents: {inline: "{{x}}"}}') },
    hosts: [{ x: 'a' }, { x: null }, { x: ['a'] }, { y: 1 }],
  },
};

describe('with what was made for other hosts, a host gets not a byte that it would not get alone', () => {
  it.each(Object.entries(CASES))('%s', (_name, { templates, hosts = NAMES }) => {
    const each = hosts.map((values) => alone({ templates }, values));
    expect(together({ templates }, hosts)).toEqual(each);
    // The hosts differ in what they get, or this would say nothing.
    expect(new Set(each.map(String)).size).toBeGreaterThan(1);
  });
});

it('hosts that differ in contents only are translated once, others each by itself', () => {
  const template = files('{path: "/{{y}}", contents: {local: a}}', '{path: /b, contents: {inline: "{{x}}"}}');
  const reads = (hosts: readonly Values[]): number => {
    const reader = readerOf('a');
    together({ templates: { a: template }, files: reader }, hosts);
    return vi.mocked(reader.read).mock.calls.length;
  };
  expect(reads(NAMES.map(({ x }) => ({ x, y: 'a' })))).toBe(1);
  expect(reads(NAMES.map(({ x }, index) => ({ x, y: `a${index}` })))).toBe(NAMES.length);
});

it('one that contents make too large is none, to the byte', () => {
  const withRest = (length: number) => {
    const rest = { path: '/b', contents: { source: `data:,${'b'.repeat(length)}` } };
    const files = [{ path: '/a', contents: { source: '', compression: '' as const } }, rest];
    const gap = { layer: 0, path: [], parts: ['', 0, ''], file: 0, append: undefined };
    const outline = new Outline({ ignition: { version: '3.3.0' }, storage: { files } }, [gap]);
    return outline.fill([[' ']], new DataUrlCache(), 0);
  };
  const room = MAX_CONFIG_BYTES - withRest(0)!.size;
  expect(withRest(room)).toHaveProperty('size', MAX_CONFIG_BYTES);
  expect(withRest(room + 1)).toBeUndefined();
});

it('those that are used stay, the others go', () => {
  const template = files('{path: "/{{y}}", contents: {local: a}}');
  const set = new TemplateSet(new Map([['a', template]]));
  const caches = { dataUrls: new DataUrlCache(), outlines: new OutlineCache(2) };
  const reader = readerOf('a');
  for (const y of ['a', 'b', 'a', 'c', 'a', 'b'])
    writeConfig({ set, files: reader }, ['a'], { y }, caches, 0);
  // b has made room for c.
  expect(vi.mocked(reader.read).mock.calls).toHaveLength(4);
});

describe('the renderer', () => {
  it('keeps no outline that may hold a secret', async () => {
    const asked = vi.spyOn(OutlineCache.prototype, 'of');
    try {
      const text = lab().replace('name: n1,', 'name: n1, variables: {password: {fromEnv: PASSWORD}},');
      const { renderer, host } = await rendererFor(text);
      expect(host().variables).toEqual({ password: { fromEnv: 'PASSWORD' } });
      const request = { host: host(), purpose: 'system', token: 'token', wipe: false } as const;
      expect(await renderer.render(request)).toHaveProperty('bytes');
      expect(await renderer.reveal(host(), 'system')).toHaveProperty('size');
      expect(asked).not.toHaveBeenCalled();
      expect(await renderer.preview(host(), 'system')).toHaveProperty('size');
      expect(asked).toHaveBeenCalledOnce();
    } finally {
      asked.mockRestore();
    }
  });

  it('takes a changed local file, also into what it has an outline of', async () => {
    const { renderer, host, write, inventory } = await rendererFor();
    await write('ignition/base.bu', files('{path: /a, contents: {local: ignition/files/mine}}'));
    const preview = async () => {
      // Another revision: the same host anew.
      inventory.revision += '+';
      const made = await renderer.preview(host(), 'system');
      return 'problems' in made ? made.problems : toBuffer(made).toString();
    };
    await write('ignition/files/mine', 'one');
    expect(await preview()).toContain('data:,one');
    await write('ignition/files/mine', 'two');
    expect(await preview()).toContain('data:,two');
  });
});
