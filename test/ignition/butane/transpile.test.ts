import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatProblem } from '../../../server/document/problem.ts';
import { parseYaml } from '../../../server/document/yaml.ts';
import { DataUrlCache, makeDataUrl } from '../../../server/ignition/butane/data-url.ts';
import { readerOfFolder } from '../../../server/ignition/butane/files-folder.ts';
import { looksDecimal } from '../../../server/ignition/butane/mode.ts';
import { escapePath } from '../../../server/ignition/butane/mount-unit.ts';
import { transpileButane } from '../../../server/ignition/butane/transpile.ts';
import { renderYaml } from '../../../server/templating/render-yaml.ts';
import { TemplateSet } from '../../../server/templating/template-set.ts';
import { tempFolder } from '../../support/temp.ts';
import { fixtures, transpile } from './fixtures.ts';

const HEAD = 'variant: flatcar\nversion: 1.0.0\n';
const said = (text: string): string[] => transpile(text, 't').problems.map(formatProblem);

describe('the examples', () => {
  it.each(fixtures('good').map(({ name, text }) => [name, text]))('%s is accepted', (_name, text) => {
    const { config, problems } = transpile(text);
    expect(problems.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(config).toBeDefined();
  });

  it.each([...fixtures('bad'), ...fixtures('stricter')].map(({ name, text }) => [name, text]))(
    '%s is refused with a place',
    (_name, text) => {
      const { config, problems } = transpile(text);
      expect(config).toBeUndefined();
      expect(problems.length).toBeGreaterThan(0);
      for (const { line, col } of problems) expect(Math.min(line, col)).toBeGreaterThan(0);
    },
  );
});

describe('what is said', () => {
  it.each([
    ['storge: {}', 't:3:1: error: unknown key "storge"; did you mean "storage"?'],
    [
      'storage:\n  files:\n    - path: /a\n      contnets: {}',
      't:6:7: error: `storage.files[0]`: unknown key "contnets"; did you mean "contents"?',
    ],
    [
      'systemd: {units: [{name: a.service, contents_local: x}]}',
      't:3:37: error: `systemd.units[0]`: "contents_local" needs version 1.1.0 of variant flatcar; this says 1.0.0',
    ],
    [
      'storage: {files: [{path: /a, mode: "0644"}]}',
      't:3:36: error: `storage.files[0].mode`: expected a whole number, got "0644"; leave out the quotes',
    ],
    [
      'storage: {files: [{path: /a, mode: 644}]}',
      't:3:36: warning: `storage.files[0].mode`: 644 is decimal and an odd mode; did you mean 0644?',
    ],
    [
      'storage: {files: [{path: /a, contents: {local: nope}}]}',
      't:3:48: error: `storage.files[0].contents.local`: there is no file "nope"',
    ],
    [
      'storage: {files: [{path: /a, contents: {local: ../../x}}]}',
      't:3:48: error: `storage.files[0].contents.local`: "../../x" leads out of the folder of files',
    ],
  ])('%s', (body, message) => {
    expect(said(HEAD + body)).toEqual([message]);
  });

  it('about the config points at the line of the document that made it', () => {
    const [path, , unit] = said(
      `${HEAD}storage:\n  filesystems:\n    - device: /dev/vdb\n      format: ext4\n      path: /x\n      with_mount_unit: true\n  files:\n    - path: /ok\n    - path: not/absolute\nsystemd:\n  units:\n    - name: wrong\n`,
    );
    expect(path).toMatch(/^t:11:13: error: `storage\.files\[1\]\.path`: /);
    expect(unit).toMatch(/^t:14:13: error: `systemd\.units\[0\]\.name`: /);
  });

  it('without variant or version', () => {
    expect(said('version: 1.0.0')).toEqual(['t:1:1: error: "variant" is missing; write "variant: flatcar"']);
    expect(said('variant: flatcar')).toEqual(['t:1:1: error: "version" is missing; write "version: 1.0.0"']);
    expect(said('variant: fcos\nversion: 1.0.0')[0]).toContain(
      't:1:10: error: `variant`: expected "flatcar"',
    );
    expect(said('variant: flatcar\nversion: 1.2.0')[0]).toContain(
      't:2:10: error: `version`: expected 1.0.0 or 1.1.0',
    );
    expect(said('')[0]).toContain('expected a Butane document');
  });
});

describe('from a template', () => {
  const template = `variant: flatcar
version: 1.0.0
storage:
  files:
    {{#each files}}
    - path: {{path}}
      mode: {{mode}}
      contents: {inline: {{text}} }
    {{/each}}
    {{> more}}
`;
  const more = '- path: /more\n  mode: 0640\n  contents:\n    inline: |\n      name={{name}}\n';
  const set = new TemplateSet(
    new Map([
      ['t', template],
      ['more', more],
    ]),
  );
  const make = (files: unknown[]) => {
    const rendered = renderYaml(set, 't', { files, name: 'n1' });
    if ('problems' in rendered) throw new Error(rendered.problems.map(formatProblem).join());
    return transpileButane(rendered.document);
  };

  it('values arrive whole, whatever is in them', () => {
    const { config } = make([{ path: '/a', mode: 0o600, text: 'a: "b"\n- {{c}}\n' }]);
    expect(config?.storage?.files).toEqual([
      {
        path: '/a',
        mode: 0o600,
        contents: { compression: '', source: 'data:;base64,YTogImIiCi0ge3tjfX0K' },
      },
      { path: '/more', mode: 0o640, contents: { compression: '', source: 'data:,name%3Dn1%0A' } },
    ]);
  });

  it('faults point into the template', () => {
    const { problems } = make([
      { path: '/a', mode: 'rw', text: '' },
      { path: 'b', mode: 0, text: '' },
    ]);
    expect(problems.map(formatProblem)).toEqual([
      't:7:13: error: `storage.files[0].mode`: expected a whole number, got "rw"',
    ]);
    const relative = make([{ path: 'b', mode: 0, text: '' }]).problems.map(formatProblem);
    expect(relative).toHaveLength(1);
    expect(relative[0]).toMatch(/^t:6:13: error: `storage\.files\[0\]\.path`: /);
  });
});

describe('files', () => {
  it('are never read from outside of the folder', async () => {
    const dir = await tempFolder();
    const inside = join(dir, 'files');
    mkdirSync(join(inside, 'sub'), { recursive: true });
    mkdirSync(join(dir, 'files-too'));
    writeFileSync(join(dir, 'secret'), 'secret');
    writeFileSync(join(inside, 'ok'), 'ok');
    symlinkSync('../secret', join(inside, 'link'));
    symlinkSync('ok', join(inside, 'good-link'));
    symlinkSync('/etc', join(inside, 'folder-link'));
    const files = readerOfFolder(inside);
    expect(Buffer.from(files.read('ok')).toString()).toBe('ok');
    expect(Buffer.from(files.read('/sub/../good-link')).toString()).toBe('ok');
    for (const path of ['../secret', 'sub/../../secret', 'link', '../files-too', 'folder-link/hostname']) {
      expect(() => files.read(path), path).toThrow(/leads out of the folder/);
    }
    expect(() => files.walk('folder-link')).toThrow(/leads out of the folder/);
    expect(() => files.read('sub')).toThrow('"sub" is not a file');
    expect(() => files.walk('nowhere')).toThrow('there is no file "nowhere"');
    expect(files.walk('').map(({ kind, path }) => `${kind} ${path}`)).toEqual([
      'link folder-link',
      'link good-link',
      'link link',
      'file ok',
    ]);
  });

  it('are not there unless a reader is given', () => {
    const parsed = parseYaml('t', `${HEAD}storage: {files: [{path: /a, contents: {local: hello.txt}}]}`);
    const { problems } = transpileButane('document' in parsed ? parsed.document : (undefined as never));
    expect(problems[0]?.message).toContain('no folder of files is configured');
  });
});

describe('parts', () => {
  it('data URLs are the shortest', () => {
    expect(makeDataUrl(Buffer.from('a b'), false)).toEqual({ source: 'data:,a%20b', compression: '' });
    expect(makeDataUrl(Buffer.from('äöüäöü'), false).source).toMatch(/^data:;base64,/);
    expect(makeDataUrl(Buffer.from('x'.repeat(500)), false).compression).toBe('gzip');
    expect(makeDataUrl(Buffer.from('x'.repeat(500)), true).compression).toBeUndefined();
  });

  it('the cache of data URLs stays within its bound', () => {
    const cache = new DataUrlCache(200);
    const first = cache.of('a'.repeat(40));
    expect(cache.of('a'.repeat(40))).toBe(first);
    cache.of('b'.repeat(40));
    cache.of('c'.repeat(40));
    const again = cache.of('a'.repeat(40));
    expect(again).toEqual(first);
    expect(again).not.toBe(first);
  });

  it.each([
    ['/', '-'],
    ['/var/lib/x', 'var-lib-x'],
    ['/dev/disk/by-id/a', 'dev-disk-by\\x2did-a'],
    ['/.hidden/.x', '\\x2ehidden-.x'],
    ['//a//b/', 'a-b'],
    ['/ä', '\\xc3\\xa4'],
  ])('%s as the name of a unit is %s', (path, name) => {
    expect(escapePath(path)).toBe(name);
  });

  it('decimal modes are noticed', () => {
    expect([644, 755, 600].map((mode) => looksDecimal(mode, false))).toEqual([true, true, true]);
    expect([0o644, 0o755, 0, 0o600, 420, 999].map((mode) => looksDecimal(mode, false))).not.toContain(true);
    expect(looksDecimal(1777, true)).toBe(true);
  });
});
