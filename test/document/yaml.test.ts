import { describe, expect, it } from 'vitest';
import { type Path, parseYaml, type YamlDocument } from '../../server/document/yaml.ts';

function read(text: string): YamlDocument {
  const result = parseYaml('f.yaml', text);
  if ('problem' in result) throw new Error(result.problem.message);
  return result.document;
}

/** `line:col`, as it is printed. */
function at({ line, col }: { line: number; col: number }): string {
  return `${line}:${col}`;
}

function fault(text: string, maxNodes?: number): string {
  const result = parseYaml('f.yaml', text, maxNodes === undefined ? undefined : { maxNodes });
  if ('document' in result) throw new Error(`it was taken: ${JSON.stringify(result.document.value)}`);
  const { file, severity, subject, message } = result.problem;
  expect({ file, severity, subject }).toEqual({ file: 'f.yaml', severity: 'error', subject: '' });
  return `${at(result.problem)} ${message}`;
}

describe('the place of a value', () => {
  const block = ['hosts:', '  - name: n1', '    macs:', '      - aa', '      -   bb', ''].join('\n');
  const flow = 'hosts: [ {name: n1, macs: [ aa,bb ]} ]\n';
  it.each<{ what: string; text: string; path: Path; value: string; key: string }>([
    { what: 'the root', text: block, path: [], value: '1:1', key: '1:1' },
    { what: 'a list in block style', text: block, path: ['hosts'], value: '2:3', key: '1:1' },
    { what: 'an entry of it', text: block, path: ['hosts', 0], value: '2:5', key: '2:5' },
    { what: 'a key of that', text: block, path: ['hosts', 0, 'name'], value: '2:11', key: '2:5' },
    { what: 'a nested list', text: block, path: ['hosts', 0, 'macs'], value: '4:7', key: '3:5' },
    { what: 'a scalar in it', text: block, path: ['hosts', 0, 'macs', 1], value: '5:11', key: '5:11' },
    { what: 'a list in flow style', text: flow, path: ['hosts'], value: '1:8', key: '1:1' },
    { what: 'a mapping in flow style', text: flow, path: ['hosts', 0], value: '1:10', key: '1:10' },
    { what: 'a key in it', text: flow, path: ['hosts', 0, 'macs'], value: '1:27', key: '1:21' },
    { what: 'a scalar in flow style', text: flow, path: ['hosts', 0, 'macs', 1], value: '1:32', key: '1:32' },
    { what: 'quoted text, at its quote', text: 'a: "x"\nb:  \'y\'\n', path: ['b'], value: '2:5', key: '2:1' },
    {
      what: 'a quoted key, at its quote',
      text: '{"a": 1, \'b\': 2}',
      path: ['b'],
      value: '1:15',
      key: '1:10',
    },
    {
      what: 'literal text, at its bar',
      text: 'a:\n  b: |\n    x\n',
      path: ['a', 'b'],
      value: '2:6',
      key: '2:3',
    },
    { what: 'folded text', text: 'a: >- # why\n  x\n', path: ['a'], value: '1:4', key: '1:1' },
    { what: 'text after its anchor', text: 'a: &x  foo\n', path: ['a'], value: '1:8', key: '1:1' },
    {
      what: 'an alias, where it is used',
      text: 'a: &x foo\nb:  *x\n',
      path: ['b'],
      value: '2:5',
      key: '2:1',
    },
    {
      what: 'what is inside an alias, where it was written',
      text: 'a: &x {p: 1}\nb: *x\n',
      path: ['b', 'p'],
      value: '1:11',
      key: '1:8',
    },
    {
      what: 'a merged value, where it was written',
      text: 'a: &x {p: 1}\nb:\n  <<: *x\n  q: 2\n',
      path: ['b', 'p'],
      value: '1:11',
      key: '1:8',
    },
    {
      what: 'a merged value of several sources: the first wins',
      text: 'a: &a {p: 1}\nb: &b {p: 2, q: 3}\nc: {<<: [*a, *b]}\n',
      path: ['c', 'p'],
      value: '1:11',
      key: '1:8',
    },
    {
      what: 'a merged value from a mapping in place',
      text: 'c: {<<: {p: 1}, q: 2}\n',
      path: ['c', 'p'],
      value: '1:13',
      key: '1:10',
    },
    {
      what: 'a value that overrides a merged one',
      text: 'a: &x {p: 1}\nb: {p: 2, <<: *x}\n',
      path: ['b', 'p'],
      value: '2:8',
      key: '2:5',
    },
    {
      what: 'a value that overrides a merged one, after it',
      text: 'a: &x {p: 1}\nb: {<<: *x, p: 2}\n',
      path: ['b', 'p'],
      value: '2:16',
      key: '2:13',
    },
    { what: 'nothing, at its key', text: 'a: 1\nb:\n', path: ['b'], value: '2:1', key: '2:1' },
    {
      what: 'nothing in a list, at its dash',
      text: 'a:\n  - x # y\n  -\n  - z\n',
      path: ['a', 1],
      value: '3:3',
      key: '3:3',
    },
    { what: 'nothing first in a list', text: 'a:\n  -\n  - z\n', path: ['a', 0], value: '2:3', key: '2:3' },
    { what: 'nothing after a flow list', text: '- [x]\n-\n', path: [1], value: '2:1', key: '2:1' },
    { what: 'nothing but an anchor', text: '- &x\n- *x\n', path: [0], value: '1:3', key: '1:3' },
    { what: 'a key that is a number', text: '0x10: a\n', path: ['16'], value: '1:7', key: '1:1' },
    { what: 'a key that is null', text: '~:  a\n', path: ['null'], value: '1:5', key: '1:1' },
    { what: 'with CRLF', text: 'a: 1\r\nb:\r\n  c: 2\r\n', path: ['b', 'c'], value: '3:6', key: '3:3' },
    { what: 'with lone CR', text: 'a: 1\rb: 2\r', path: ['b'], value: '2:4', key: '2:1' },
    { what: 'after a byte order mark', text: '\uFEFFa: 1\n', path: ['a'], value: '1:4', key: '1:1' },
    // Columns count as editors and JavaScript do, in UTF-16 units: ä is one, 😀 is two.
    { what: 'after letters beyond ASCII', text: '{ä: ö, b: 1}\n', path: ['b'], value: '1:11', key: '1:8' },
    { what: 'after an emoji', text: '{a: 😀, b: 1}\n', path: ['b'], value: '1:12', key: '1:9' },
    {
      what: 'missing: its nearest ancestor',
      text: 'a:\n  b: 1\n',
      path: ['a', 'x', 'y'],
      value: '2:3',
      key: '2:3',
    },
  ])('is right for $what', ({ text, path, value, key }) => {
    const document = read(text);
    expect({ value: at(document.placeOf(path)), key: at(document.placeOfKey(path)) }).toEqual({ value, key });
    expect(document.placeOf(path).file).toBe('f.yaml');
  });
});

describe('the text of a scalar', () => {
  const text = 'a: 1.30\nb: "x\\ty"\nc: |\n  one\n  two\nd: {e: 0042}\nf: &x {g: 1e3}\nh: {<<: *x}\ni: *x\n';
  it.each<{ path: Path; written: string | undefined }>([
    { path: ['a'], written: '1.30' },
    { path: ['b'], written: 'x\ty' },
    { path: ['c'], written: 'one\ntwo\n' },
    { path: ['d', 'e'], written: '0042' },
    { path: ['h', 'g'], written: '1e3' },
    { path: ['i', 'g'], written: '1e3' },
    { path: ['d'], written: undefined },
    { path: ['nowhere'], written: undefined },
  ])('at $path is $written, as it was written', ({ path, written }) => {
    expect(read(text).textOf(path)).toBe(written);
  });
});

describe('a file', () => {
  it.each<{ what: string; text: string; value: unknown }>([
    { what: 'that is empty', text: '', value: undefined },
    { what: 'that is blank', text: ' \n\n', value: undefined },
    { what: 'of comments only', text: '# nothing\n# here\n', value: undefined },
    { what: 'of a byte order mark only', text: '\uFEFF', value: undefined },
    { what: 'with an empty document', text: '---\n', value: undefined },
    { what: 'with a start and an end mark', text: '---\na: 1\n...\n', value: { a: 1 } },
    { what: 'with CRLF', text: 'a: 1\r\nb: |\r\n  x\r\n', value: { a: 1, b: 'x\n' } },
    { what: 'with a byte order mark', text: '\uFEFFa: 1\n', value: { a: 1 } },
    { what: 'without a newline at its end', text: 'a: 1', value: { a: 1 } },
    {
      what: 'with merges',
      text: 'a: &x {p: 1}\nb: {<<: *x, q: 2}\n',
      value: { a: { p: 1 }, b: { p: 1, q: 2 } },
    },
    // YAML 1.2: none of these is a boolean, a date or a number to base 60.
    { what: 'with a MAC address', text: 'a: 52:54:00:12:34:01', value: { a: '52:54:00:12:34:01' } },
    {
      what: 'with yes, a date and 1_000',
      text: '[yes, 2026-01-01, 1_000]',
      value: ['yes', '2026-01-01', '1_000'],
    },
    { what: 'that uses an anchor twice', text: '[&x 1, &x 2, *x]', value: [1, 2, 2] },
    { what: 'whose inner anchor hides the outer one', text: 'a: &x [&x 1, *x]', value: { a: [1, 1] } },
  ])('$what is read', ({ text, value }) => {
    expect(read(text).value).toEqual(value);
  });

  it('may share one block between ten thousand entries', () => {
    const hosts = Array.from({ length: 10_000 }, (_, n) => `  - {<<: *common, name: n${n}}`);
    const document = read(`common: &common {pool: workers, disk: /dev/vda}\nhosts:\n${hosts.join('\n')}\n`);
    expect((document.value as { hosts: unknown[] }).hosts[9_999]).toEqual({
      pool: 'workers',
      disk: '/dev/vda',
      name: 'n9999',
    });
  });

  it('does not change what objects are by the key __proto__', () => {
    const value = read('__proto__: {polluted: true}\n').value as object;
    expect(Object.keys(value)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });
});

describe('broken YAML', () => {
  it.each<{ what: string; text: string; says: string }>([
    { what: 'a tab', text: 'a:\n\t- b\n', says: '2:1 not valid YAML: a tab in the indentation; use spaces' },
    {
      what: 'a quote that is not closed',
      text: 'a: "abc\nb: 1\n',
      says: '2:1 not valid YAML: a quote or bracket that was opened above is not closed, or this line is not indented enough',
    },
    {
      what: 'a quote that is not closed at the end of the file',
      text: 'a: "abc',
      says: '1:8 not valid YAML: the file ends inside quoted text: a closing quote is missing',
    },
    {
      what: 'a bracket that is not closed',
      text: 'a: [1, 2\nb: 1\n',
      says: '2:1 not valid YAML: a quote or bracket that was opened above is not closed, or this line is not indented enough',
    },
    {
      what: 'a bracket that is not closed at the end of the file',
      text: 'a: [1, 2',
      says: '1:9 not valid YAML: the file ends inside brackets: a closing "]" or "}" is missing',
    },
    {
      what: 'a comma that is missing',
      text: 'a: ["x" "y"]\n',
      says: '1:9 not valid YAML: expected a comma here, or the closing bracket',
    },
    {
      what: 'a comma too many',
      text: 'a: [, x]\n',
      says: '1:5 not valid YAML: a comma with nothing before it',
    },
    {
      what: 'a key indented too far',
      text: 'a:\n  b: 1\n   c: 2\n',
      says: '3:4 not valid YAML: this line is indented differently from the lines above that it belongs to',
    },
    {
      what: 'a list entry indented too far',
      text: 'a:\n  - b\n    - c: 1\n  -- d\n',
      says: '3:8 not valid YAML: unexpected text here; put the whole value in quotes if it contains ": " or starts with a special character',
    },
    {
      what: 'a colon in a value',
      text: 'a: b: c\n',
      says: '1:5 not valid YAML: unexpected text here; put the whole value in quotes if it contains ": " or starts with a special character',
    },
    {
      what: 'a value that starts with @',
      text: 'a: @b\n',
      says: '1:4 not valid YAML: unexpected text here; put the whole value in quotes if it contains ": " or starts with a special character',
    },
    {
      what: 'text after a closing quote',
      text: 'ä: "ö" x\n',
      says: '1:8 not valid YAML: unexpected text here; put the whole value in quotes if it contains ": " or starts with a special character',
    },
    {
      what: 'a key twice',
      text: 'a:\n  name: 1\n  pool: 2\n  "name": 3\n',
      says: '4:3 not valid YAML: the key "name" is there twice in the same mapping; remove one',
    },
    {
      what: 'a key without a space after its colon',
      text: 'name:foo\npool: b\n',
      says: '2:5 not valid YAML: this does not continue what stands above it: look at the indentation, and for a ":" without a space after it',
    },
    {
      what: 'a template in place of a value',
      text: 'a: 1\nb: [{c: 1}]\nd: {{ name }}\n',
      says: `3:5 not valid YAML: a list or mapping can't be a key; text that starts with "{" or "[" needs quotes`,
    },
    {
      what: '"<<" with something else than a mapping',
      text: 'a: {<<: 1}\n',
      says: '1:5 not valid YAML: "<<" takes a mapping, or a list of them, such as the alias of one',
    },
    {
      what: 'a control character',
      text: 'a: x\nb: \u0007\n',
      says: '2:4 not valid YAML: a control character, which YAML does not allow; is this a text file?',
    },
    {
      what: 'a binary file',
      text: 'PK\u0003\u0004\u0000\u0000',
      says: '1:5 not valid YAML: a control character, which YAML does not allow; is this a text file?',
    },
    {
      what: 'brackets without end',
      text: '['.repeat(100_000),
      says: '1:100 not valid YAML: nested too deeply: more than 100 levels',
    },
    {
      what: 'an error after a byte order mark',
      text: '\uFEFFa: @b\n',
      says: '1:4 not valid YAML: unexpected text here; put the whole value in quotes if it contains ": " or starts with a special character',
    },
    {
      what: 'an error after CRLF',
      text: 'a: 1\r\n\tb: 2\r\n',
      says: '2:1 not valid YAML: a tab in the indentation; use spaces',
    },
    {
      what: 'an error after a lone CR',
      text: 'a: 1\r\tb: 2\r',
      says: '2:1 not valid YAML: a tab in the indentation; use spaces',
    },
    {
      what: 'a second document',
      text: '---\na: "---"\n--- # more\nb: 2\n',
      says: '3:1 more than one YAML document in a file; put each in a file of its own',
    },
    {
      what: 'a second document after a very long one',
      text: `${'- a\n'.repeat(150_000)}---\n- b\n`,
      says: '150001:1 more than one YAML document in a file; put each in a file of its own',
    },
    { what: 'an alias of itself', text: 'a: &x\n  b: [*x]\n', says: '2:7 the alias *x contains itself' },
  ])('by $what is said with its place', ({ text, says }) => {
    expect(fault(text)).toBe(says);
  });

  // A password is easily such a value, and messages go to logs and pages.
  it.each([
    {
      what: 'an alias',
      text: 'password: *hunter2\n',
      says: /^1:11 .* text that starts with "\*" needs quotes$/,
    },
    {
      what: 'a tag',
      text: 'password: !hunter2 x\n',
      says: /^1:11 .* text that starts with "!" needs quotes$/,
    },
  ])('by text that looks like $what is said without the text', ({ text, says }) => {
    expect(fault(text)).toMatch(says);
    expect(fault(text)).not.toContain('hunter2');
  });
});

describe('aliases that multiply', () => {
  it('are refused before anything is built of them', () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
    for (let n = 1; n < 30; n++) {
      lines.push(`a${n}: &a${n} [${Array.from({ length: 10 }, () => `*a${n - 1}`).join(', ')}]`);
    }
    expect(fault(lines.join('\n'))).toBe(
      '7:25 aliases make this more than 5000000 values; use fewer of them',
    );
  });

  it('are refused when they multiply long text', () => {
    const text = `a: &a ${'x'.repeat(1_000_000)}\nb: [${Array.from({ length: 1000 }, () => '*a').join(', ')}]\n`;
    expect(fault(text)).toMatch(/^2:\d+ aliases make this more than 5000000 values/);
  });

  it('are refused when they multiply by merging', () => {
    const keys = Array.from({ length: 20 }, (_, n) => `k${n}: ${n}`).join(', ');
    expect(fault(`a: &a {${keys}}\nb: [{<<: *a}, {<<: *a}, {<<: *a}]\n`, 100)).toMatch(/^2:\d+ aliases make/);
  });

  it('are refused when they nest', () => {
    const chain = (length: number): string =>
      Array.from({ length }, (_, n) => (n === 0 ? 'a0: &a0 [1]' : `a${n}: &a${n} [*a${n - 1}]`)).join('\n');
    expect('document' in parseYaml('f', chain(99))).toBe(true);
    expect(fault(chain(3000))).toBe('100:12 aliases make this nested too deeply: more than 100 levels');
  });

  it('are fine as long as there are few, and a large file has none of its own fault', () => {
    expect(read('a: &a [1, 2]\nb: [*a, *a]\n').value).toEqual({
      a: [1, 2],
      b: [
        [1, 2],
        [1, 2],
      ],
    });
    expect('document' in parseYaml('f', `[${'1,'.repeat(500)}1]`, { maxNodes: 100 })).toBe(true);
  });
});
