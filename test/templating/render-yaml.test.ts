import Type from 'typebox';
import { describe, expect, it } from 'vitest';
import { Shape } from '../../server/document/shape.ts';
import { renderYaml } from '../../server/templating/render-yaml.ts';
import { setOf, yaml, yamlFault } from './make.ts';

describe('values', () => {
  it('keep their type when they are all there is', () => {
    const values = { n: 420, b: true, l: [1, 'a'], m: { x: [null] }, s: '0644', none: null };
    expect(yaml('n: {{n}}\nb: {{b}}\nl: {{l}}\nm: {{m}}\ns: {{s}}\nnone: {{none}}\n', values)).toEqual(
      values,
    );
  });

  it('are text in quotes and in blocks of text', () => {
    const template = 'a: "{{n}}"\nb: \'{{n}}\'\nc: |-\n  {{n}}\nd: >-\n  {{n}}\ne: |\n  {{n}}\nf:\n  {{n}}\n';
    expect(yaml(template, { n: 5 })).toEqual({ a: '5', b: '5', c: '5', d: '5', e: '5\n', f: 5 });
  });

  it('are text beside other text', () => {
    expect(yaml('a: http://{{host}}:{{port}}/\n', { host: 'h', port: 80 })).toEqual({ a: 'http://h:80/' });
  });

  it('of many lines need no indentation', () => {
    const key = 'line 1\n  line 2: "x"\n\n---\n\tend\n';
    expect(yaml('files:\n  - inline: {{key}}\n    after: 1\n', { key })).toEqual({
      files: [{ inline: key, after: 1 }],
    });
    expect(yaml('a: |\n  before\n  {{key}}\n  after\n', { key })).toEqual({ a: `before\n${key}\nafter\n` });
  });

  it('may be keys', () => {
    expect(yaml('{{k}}: 1\npre-{{k}}: 2\n__x: 3\n', { k: 'a: b' })).toEqual({
      'a: b': 1,
      'pre-a: b': 2,
      __x: 3,
    });
    const own = yaml('{{k}}: 1\n', { k: '__proto__' }) as object;
    expect(Object.getOwnPropertyNames(own)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(own)).toBe(Object.prototype);
    expect(yaml('a: &a {x: 1}\nb:\n  {{k}}: *a\n', { k: '<<' })).toEqual({
      a: { x: 1 },
      b: { '<<': { x: 1 } },
    });
  });

  it('that do not fit are refused with their place', () => {
    expect(yamlFault('a: 1\nb: x{{l}}\n', { l: [1] })).toBe(
      't.yaml:2:5: error: {{l}} is a list, which can not be a part of text; use "join" or "json"',
    );
    expect(yamlFault('a: "{{ m }}"\n', { m: {} })).toContain('t.yaml:1:5: error: {{ m }} is a mapping');
    expect(yamlFault('a: x{{n}}\n', { n: null })).toContain('{{n}} has no value here');
    expect(yamlFault('a: 1\n{{k}}: 2\n', { k: 'a' })).toBe(
      't.yaml:2:1: error: {{k}} makes a key that is in the same mapping already',
    );
    expect(yamlFault('{{k}}: 1\n', { k: { a: 1 } })).toContain('t.yaml:1:1: error: {{k}} is a mapping');
  });

  it('that contain themselves are refused', () => {
    const loop: Record<string, unknown> = {};
    loop.self = loop;
    expect(yamlFault('a: {{loop}}\n', { loop })).toContain('nested more than');
  });

  it('do not see prototypes or methods', () => {
    for (const name of ['constructor', '__proto__', 'toString', 'l.map', 's.length', 'hasOwnProperty']) {
      expect(yamlFault(`a: {{${name}}}\n`, { l: [], s: 'x' }), name).toMatch(/^t\.yaml:1:6: error: /);
    }
  });

  it('stay what they are behind an alias', () => {
    expect(yaml('a: &x {{v}}\nb: *x\n', { v: [1] })).toEqual({ a: [1], b: [1] });
  });
});

describe('names', () => {
  const values = { host: { name: 'n1', ip: null }, list: [1], variables: {} };

  it.each([
    ['a: {{hots.name}}', 't.yaml:1:6: error: unknown name "hots"; did you mean "host"?'],
    ['a: {{host.nam}}', 't.yaml:1:6: error: unknown name "nam" in "host"; did you mean "name"?'],
    ['{{#if hots}}a: 1{{/if}}', 't.yaml:1:7: error: unknown name "hots"; did you mean "host"?'],
    [
      '{{#unless host.x.y}}a: 1{{/unless}}',
      't.yaml:1:11: error: unknown name "x" in "host"; known: name, ip',
    ],
    [
      'a: 1\n{{#each lists}}\n- 1\n{{/each}}',
      't.yaml:2:9: error: unknown name "lists"; did you mean "list"?',
    ],
    ['{{#with hosts}}a: 1{{/with}}', 't.yaml:1:9: error: unknown name "hosts"; did you mean "host"?'],
    [
      '{{#if (eq host.nme "x")}}a: 1{{/if}}',
      't.yaml:1:11: error: unknown name "nme" in "host"; did you mean "name"?',
    ],
    ['{{#each list}}{{nope}}{{/each}}', 't.yaml:1:17: error: unknown name "nope": that is no mapping'],
    ['a: {{host.ip.address}}', 't.yaml:1:6: error: "host.ip" has no value, so it has no "address"'],
    ['a: {{list.[7]}}', 't.yaml:1:6: error: "7" in "list": it is a list of 1; use #each, or an index'],
    ['a: {{@indx}}', 't.yaml:1:6: error: unknown name "@indx"; did you mean "index"?'],
    ['a: {{@index}}', 't.yaml:1:6: error: "@index" has a meaning only inside #each'],
    [
      'a: {{../host}}',
      't.yaml:1:6: error: "../host" leads out of the template: there are fewer blocks around',
    ],
  ])('%s', (template, fault) => {
    expect(yamlFault(template, values)).toBe(fault);
  });

  it('that are known but empty are false, and only "default" takes a missing one', () => {
    expect(yaml('a: {{#if host.ip}}1{{else}}2{{/if}}\n', values)).toEqual({ a: 2 });
    expect(yaml('a: {{default variables.x 5}}\nb: {{default host.ip "none"}}\n', values)).toEqual({
      a: 5,
      b: 'none',
    });
    expect(yamlFault('a: {{default variabels.x 5}}', values)).toContain('did you mean "variables"?');
  });
});

describe('blocks', () => {
  it('choose', () => {
    const template = '{{#if (eq role "worker")}}\na: w\n{{else if cp}}\na: cp\n{{else}}\na: none\n{{/if}}\n';
    expect(yaml(template, { role: 'worker', cp: false })).toEqual({ a: 'w' });
    expect(yaml(template, { role: 'x', cp: true })).toEqual({ a: 'cp' });
    expect(yaml(template, { role: 'x', cp: [] })).toEqual({ a: 'none' });
  });

  it('repeat, with names of their own and of those around', () => {
    const template = `
{{#each disks as |disk i|}}
- {device: "{{disk.device}}", i: {{i}}, first: {{@first}}, last: {{@last}}, host: "{{../name}}", root: {{@root.name}} }
  {{#each disk.parts}}
  # {{@../index}} {{@index}} {{this}}
  {{/each}}
{{else}}
- none
{{/each}}
`;
    const disks = [
      { device: 'a', parts: [1, 2] },
      { device: 'b', parts: [] },
    ];
    expect(yaml(template, { name: 'n', disks })).toEqual([
      { device: 'a', i: 0, first: true, last: false, host: 'n', root: 'n' },
      { device: 'b', i: 1, first: false, last: true, host: 'n', root: 'n' },
    ]);
    expect(yaml(template, { name: 'n', disks: [] })).toEqual(['none']);
    expect(yaml('{{#each m}}\n{{@key}}: {{this}}\n{{/each}}', { m: { a: 1, b: [2] } })).toEqual({
      a: 1,
      b: [2],
    });
    expect(yaml('{{#with a}}x: {{b}}{{/with}}', { a: { b: 1 } })).toEqual({ x: 1 });
  });

  it('have helpers', () => {
    const values = { l: ['a', 'b'], m: { k: 'v' }, n: 0 };
    const template = `
join: {{join l ", "}}
json: {{json m}}
lookup: {{lookup m "k"}}
has: [{{has m "k"}}, {{has m "x"}}, {{has l "a"}}]
logic: [{{and l m}}, {{or n "x"}}, {{not n}}, {{ne 1 2}}]
concat: {{concat "x" n}}
`;
    expect(yaml(template, values)).toEqual({
      join: 'a, b',
      json: '{"k":"v"}',
      lookup: 'v',
      has: [true, false, true],
      logic: [true, true, true, true],
      concat: 'x0',
    });
    expect(yamlFault('a: {{lookup m "x"}}', values)).toBe('t.yaml:1:4: error: the mapping has no key "x"');
    expect(yamlFault('a: {{join m}}', values)).toBe('t.yaml:1:4: error: "join" takes a list');
  });

  it.each([
    ['{{#foo}}{{/foo}}', 'unknown block "foo"; blocks are #if, #unless, #each and #with'],
    ['{{#eahc x}}{{/eahc}}', 'unknown block "eahc"; did you mean "each"?'],
    ['{{defalt x 1}}', 'unknown helper "defalt"; did you mean "default"?'],
    ['{{eq 1}}', '"eq" takes 2 values, and this gives it 1'],
    ['{{#if a b}}{{/if}}', '#if takes exactly one value'],
    ['{{> (lookup a b)}}', 'the name of a partial must be written out'],
    ['{{#> x}}{{/x}}', 'partials with a block'],
    ['{{#*inline "x"}}{{/inline}}', 'inline partials and decorators'],
    ['{{log "x"}}', 'unknown helper "log"'],
    ['{{#if a}}', 'a block ({{#…}}) is not closed'],
    ['{{#if a}}{{/each}}', "if doesn't match each"],
    ['{{/if}}', 'closes a block that was not opened'],
    ['{a: {{x}}}', 'put a space between'],
    ['{{> x', 'a tag ({{…}}) is not closed'],
  ])('refuse %s', (template, fault) => {
    expect(yamlFault(template)).toContain(fault);
    expect(yamlFault(template)).toMatch(/^t\.yaml:1:\d+: error: /);
  });
});

describe('places', () => {
  const template = `storage:
  files:
    {{#each files}}
    - path: {{path}}
      mode: 1
    {{/each}}
    {{#if extra}}
    - path: /extra
      mode: {{extra}}
    {{/if}}
    {{> more x=extra}}
last: "{{extra}} and more"
`;
  const more = '- path: /more\n  {{! a comment }}\n  mode: {{x}}\n  deep: {a: [1, {{x}}]}\n';
  const result = renderYaml(setOf({ 't.yaml': template, more }), 't.yaml', {
    files: [{ path: '/1' }, { path: '/2' }],
    extra: 7,
  });
  const document = 'document' in result ? result.document : undefined;

  it.each([
    [['storage', 'files', 0, 'path'], { file: 't.yaml', line: 4, col: 13 }],
    [['storage', 'files', 1, 'path'], { file: 't.yaml', line: 4, col: 13 }],
    [['storage', 'files', 1, 'mode'], { file: 't.yaml', line: 5, col: 13 }],
    [['storage', 'files', 2, 'path'], { file: 't.yaml', line: 8, col: 13 }],
    [['storage', 'files', 2, 'mode'], { file: 't.yaml', line: 9, col: 13 }],
    [['storage', 'files', 3, 'path'], { file: 'more', line: 1, col: 9 }],
    [['storage', 'files', 3, 'mode'], { file: 'more', line: 3, col: 9 }],
    [['storage', 'files', 3, 'deep', 'a', 1], { file: 'more', line: 4, col: 17 }],
    [['last'], { file: 't.yaml', line: 12, col: 7 }],
    [['storage', 'nowhere', 'x'], { file: 't.yaml', line: 2, col: 3 }],
  ])('%j is at %j', (path, place) => {
    expect(document?.placeOf(path)).toEqual(place);
  });

  it('are known for keys, and for keys that are values', () => {
    expect(document?.placeOfKey(['storage', 'files', 3, 'mode'])).toEqual({ file: 'more', line: 3, col: 3 });
    const keyed = renderYaml(setOf({ t: 'a:\n  {{k}}:\n    b: 1\n' }), 't', { k: 'key' });
    const found = 'document' in keyed ? keyed.document : undefined;
    expect(found?.placeOf(['a', 'key', 'b'])).toEqual({ file: 't', line: 3, col: 8 });
    expect(found?.placeOfKey(['a', 'key'])).toEqual({ file: 't', line: 2, col: 3 });
    expect(found?.textOf(['a', 'key', 'b'])).toBe('1');
  });

  it('are given with YAML that is broken after rendering', () => {
    const broken = '{{#each l}}\n- {{this}}\n{{/each}}\na: [1\nb: 2\n';
    expect(yamlFault(broken, { l: [] })).toMatch(/^t\.yaml:5:1: error: not valid YAML: /);
    expect(yamlFault('a: 1\n{{#if b}}\na: 2\n{{/if}}\n', { b: true })).toBe(
      't.yaml:3:1: error: not valid YAML: the key "a" is there twice in the same mapping; remove one',
    );
    expect(yamlFault({ t: 'a:\n  {{> p}}\n', p: 'x: 1\ny: {{v}}: {{v}}\n' }, { v: 1 })).toMatch(
      /^p:2:\d+: error: /,
    );
    expect(yamlFault('a: *{{v}}\n', { v: 'x' })).toMatch(/^t\.yaml:1:4: error: not valid YAML: an alias/);
  });

  it('are used by shapes', () => {
    const shape = new Shape(Type.Object({ a: Type.Array(Type.Integer()) }, { additionalProperties: false }));
    const rendered = renderYaml(setOf({ t: '{{#if x}}\na:\n  - {{x}}\n{{/if}}\n' }), 't', { x: 'text' });
    if (!('document' in rendered)) throw new Error('no document');
    const read = shape.read(rendered.document, [], 'it', rendered.document.value);
    expect('problems' in read && read.problems).toMatchObject([{ file: 't', line: 3, col: 5 }]);
  });
});

describe('partials', () => {
  it('alone on a line are indented and end their line', () => {
    const sources = {
      t: 'a:\n  {{> p}}\nb: 1\n',
      p: 'x: 1\n{{#if y}}\ny:\n  - {{y}}\n{{/if}}\n{{> q}}',
      q: '{{y}}: last',
    };
    expect(yaml(sources, { y: 'v' })).toEqual({ a: { x: 1, y: ['v'], v: 'last' }, b: 1 });
  });

  it('take a context and names', () => {
    const sources = { t: 'a: {{> p m}}\nb: {{> p m v=2}}\n', p: '[{{v}}, {{@root.m.v}}]' };
    expect(yaml(sources, { m: { v: 1 } })).toEqual({ a: [1, 1], b: [2, 1] });
  });

  it('that are missing or go in circles are refused before anything is run', () => {
    expect(
      yamlFault({ t: 'a: 1\n{{#if x}}{{> flatcar/bse}}{{/if}}', 'flatcar/base': '' }, { x: false }),
    ).toBe('t:2:10: error: there is no template "flatcar/bse"; did you mean "flatcar/base"?');
    expect(yamlFault({ t: '{{> a}}', a: 'x\n{{> b}}', b: '{{#if no}}{{> a}}{{/if}}' }, { no: false })).toBe(
      'b:1:11: error: this partial includes itself: a > b > a',
    );
    expect(yamlFault({ t: '{{> t}}' })).toContain('t > t');
  });

  it('tell their own faults', () => {
    expect(yamlFault({ t: 'a: 1\n{{> p}}', p: '\n\nb: {{nope}}\n' })).toMatch(
      /^p:3:6: error: unknown name "nope"/,
    );
    expect(yamlFault({ t: 'a: 1\n{{> p}}', p: '\n{{#if}}' })).toMatch(/^p:2:/);
  });
});

describe('bad input', () => {
  it('that is not UTF-8 is refused', () => {
    expect(yamlFault({ t: new Uint8Array([0x61, 0xff, 0xfe]) })).toBe(
      't: error: not UTF-8; save it as UTF-8 text',
    );
    expect(yamlFault('a: 1\nb: \0')).toBe('t.yaml:2:1: error: a NUL character; is this a text file?');
  });

  it('takes a byte order mark', () => {
    expect(yaml('\uFEFFa: 1')).toEqual({ a: 1 });
  });

  it('that is a bomb of aliases is refused', () => {
    const lines = ['a: &a [x, x, x, x, x, x, x, x, x, x]'];
    for (const [at, name] of [...'bcdefghi'].entries()) {
      lines.push(`${name}: &${name} [${`*${'abcdefghi'[at]},`.repeat(10)}]`);
    }
    expect(yamlFault(lines.join('\n'))).toMatch(/^t\.yaml:\d+:\d+: error: aliases make this more than/);
    expect(yamlFault(`a: &a {{v}}\nb: [${'*a,'.repeat(2000)}]`, { v: 'x'.repeat(10_000) })).toMatch(
      /^t\.yaml:1:7: error: {{v}} makes the document too large/,
    );
  });

  it('that renders to too much is refused', () => {
    const l = Array.from({ length: 1000 }, () => 'x');
    expect(
      yamlFault('{{#each l}}{{#each @root.l}}{{#each @root.l}}- 1\n{{/each}}{{/each}}{{/each}}', { l }),
    ).toMatch(/error: (what this renders to is larger than 8 MiB|too much to do)/);
    const idle = '{{#each l}}{{#each @root.l}}{{#each @root.l}}{{/each}}{{/each}}{{/each}}';
    expect(yamlFault(idle, { l })).toContain('too much to do');
    expect(yamlFault('a: {{v}}', { v: 'x'.repeat(50_000_000) })).toContain('larger than 8 MiB');
    expect(yamlFault('a: {{v}}', { v: Array.from({ length: 900 }, () => 'x'.repeat(10_000)) })).toContain(
      'too large',
    );
    expect(yamlFault('a: 123456', {}, { maxOutput: 5 })).toContain('larger than 5 characters');
  });

  it('that is nested too deeply is refused', () => {
    const nested = (count: number) => `${'{{#if a}}'.repeat(count)}x: 1${'{{/if}}'.repeat(count)}`;
    expect(yamlFault(nested(101), { a: 1 })).toContain('more than 100 blocks in each other');
    expect(yamlFault(nested(50_000), { a: 1 })).toMatch(/^t\.yaml:1:\d+: error: more than 100 blocks/);
  });

  it('of an unknown template is told', () => {
    const result = renderYaml(setOf({ base: '' }), 'bsae', {});
    expect(result).toMatchObject({
      problems: [{ line: 0, message: 'there is no template "bsae"; did you mean "base"?' }],
    });
  });
});

describe('the set', () => {
  it('checks all templates at once', () => {
    const set = setOf({ a: '{{> c}}', b: '{{#if}}', c: 'x', d: '{{> b}}' });
    expect(set.check().map(({ file, line }) => `${file}:${line}`)).toEqual(['b:1']);
  });

  it('parses what only differs in values once, and nobody can change what is shared', () => {
    const set = setOf({ t: 'fixed: {a: [1]}\nv: {{v}}\n' });
    const render = (v: unknown) => {
      const result = renderYaml(set, 't', { v });
      return 'document' in result
        ? (result.document.value as { fixed: { a: number[] }; v: unknown })
        : undefined;
    };
    const first = render(1)!;
    const second = render('two')!;
    expect(second).toEqual({ fixed: { a: [1] }, v: 'two' });
    expect(second.fixed).toBe(first.fixed);
    expect(() => first.fixed.a.push(2)).toThrow();
  });
});

it('what a template was parsed to is never taken for that of another one', () => {
  const set = setOf({
    a: '{{#if x}}{{#if y}}p: 1{{else}}q: 1{{/if}}{{/if}}',
    'a 1': '{{#if y}}r: 1{{else}}s: 1{{/if}}',
    '0 a': '{{#if x}}t: 1{{/if}}',
  });
  const made = ['a', 'a 1', '0 a', 'a'].map((name) => {
    const result = renderYaml(set, name, { x: true, y: false });
    return 'document' in result ? result.document.value : result.problems;
  });
  expect(made).toEqual([{ q: 1 }, { s: 1 }, { t: 1 }, { q: 1 }]);
});
