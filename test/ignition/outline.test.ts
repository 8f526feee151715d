import { describe, expect, it, vi } from 'vitest';
import { DataUrlCache } from '../../server/ignition/butane/data-url.ts';
import type { FilesReader } from '../../server/ignition/butane/files.ts';
import { type Composed, composeConfig } from '../../server/ignition/compose.ts';
import { MAX_CONFIG_BYTES } from '../../server/ignition/layers.ts';
import { fillOutline, outlineOf } from '../../server/ignition/outline.ts';
import { OutlineCache } from '../../server/ignition/outline-cache.ts';
import { renderYaml } from '../../server/templating/render-yaml.ts';
import { TemplateSet } from '../../server/templating/template-set.ts';
import { lab } from '../inventory/make.ts';
import { faultsOf, HEAD, rendererFor } from './make.ts';

type Values = Record<string, unknown>;

/** What hosts with these values get, one after the other; `once` keeps outlines between them. */
function composeAll(
  templates: Readonly<Record<string, string>>,
  hosts: readonly Values[],
  { once, files = readerOf('local') }: { once: boolean; files?: FilesReader },
): Composed[] {
  const set = new TemplateSet(new Map(Object.entries(templates)));
  const caches = { dataUrls: new DataUrlCache(), outlines: once ? new OutlineCache() : undefined };
  return hosts.map((values) => composeConfig({ set, files }, Object.keys(templates), values, caches));
}

function readerOf(content: string): FilesReader {
  return { read: vi.fn(() => Buffer.from(content)), walk: () => [] };
}

/** The bytes, or what is wrong. */
const shown = (composed: Composed): string | string[] =>
  'problems' in composed ? faultsOf(composed) : JSON.stringify(composed.config);

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
    const alone = composeAll(templates, hosts, { once: false }).map(shown);
    expect(composeAll(templates, hosts, { once: true }).map(shown)).toEqual(alone);
    // The hosts differ in what they get, or this would say nothing.
    expect(new Set(alone.map(String)).size).toBeGreaterThan(1);
  });
});

it('hosts that differ in contents only are translated once, others each by itself', () => {
  const template = files('{path: "/{{y}}", contents: {local: a}}', '{path: /b, contents: {inline: "{{x}}"}}');
  const reads = (hosts: readonly Values[]): number => {
    const reader = readerOf('a');
    composeAll({ a: template }, hosts, { once: true, files: reader });
    return vi.mocked(reader.read).mock.calls.length;
  };
  expect(reads(NAMES.map(({ x }) => ({ x, y: 'a' })))).toBe(1);
  expect(reads(NAMES.map(({ x }, index) => ({ x, y: `a${index}` })))).toBe(NAMES.length);
});

it('one that contents make too large is none, to the byte', () => {
  const template = files(
    '{path: /a, contents: {inline: "{{x}}"}}',
    '{path: /b, append: [{inline: "{{x}}"}]}',
  );
  const set = new TemplateSet(new Map([['a', template]]));
  for (const x of ['', 'a', 'a b'.repeat(100)]) {
    const rendered = renderYaml(set, 'a', { x });
    if ('problems' in rendered) throw new Error('it renders');
    const layers = [{ template: 'a', document: rendered.document }];
    const dataUrls = new DataUrlCache();
    const outline = outlineOf(layers, { files: readerOf(''), dataUrls })!;
    const size = JSON.stringify(fillOutline(outline, layers, dataUrls)).length;
    const room = MAX_CONFIG_BYTES - size;
    const filledWith = (more: number) =>
      fillOutline({ ...outline, bytes: outline.bytes + more }, layers, dataUrls);
    expect(filledWith(room)).toBeDefined();
    expect(filledWith(room + 1)).toBeUndefined();
  }
});

it('those that are used stay, the others go', () => {
  const template = files('{path: "/{{y}}", contents: {local: a}}');
  const set = new TemplateSet(new Map([['a', template]]));
  const caches = { dataUrls: new DataUrlCache(), outlines: new OutlineCache(2) };
  const reader = readerOf('a');
  for (const y of ['a', 'b', 'a', 'c', 'a', 'b']) composeConfig({ set, files: reader }, ['a'], { y }, caches);
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
      expect(await renderer.render(request)).toHaveProperty('text');
      expect(await renderer.reveal(host(), 'system')).toHaveProperty('bytes');
      expect(asked).not.toHaveBeenCalled();
      expect(await renderer.preview(host(), 'system')).toHaveProperty('bytes');
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
      return 'bytes' in made ? made.bytes.toString() : made.problems;
    };
    await write('ignition/files/mine', 'one');
    expect(await preview()).toContain('data:,one');
    await write('ignition/files/mine', 'two');
    expect(await preview()).toContain('data:,two');
  });
});
