import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { formatProblem } from '../../server/document/problem.ts';
import { RailheadError } from '../../server/errors.ts';
import type { Written } from '../../server/ignition/compose.ts';
import { fileIn } from '../../server/ignition/config-file.ts';
import type { RenderedConfig } from '../../server/ignition/delivery.ts';
import { toBuffer } from '../../server/ignition/sheet.ts';
import { InventoryIndex } from '../../server/inventory/index.ts';
import { inventoryOf, lab } from '../inventory/make.ts';
import { filesButane, HEAD, rendererFor } from './make.ts';

const SECRET = 'correct horse battery staple';
const WITH_SNIPPET = lab(
  '{name: n2, pool: workers, macs: [52:54:00:12:34:02], snippets: [mine.bu], variables: {greeting: hello, password: {fromFile: x}}}',
);

function fileOf(preview: Written, path: string): string | undefined {
  if ('problems' in preview) throw new Error(preview.problems.map(formatProblem).join('\n'));
  return fileIn(JSON.parse(toBuffer(preview).toString()), path)?.toString();
}

function problemsOf(made: Written | RenderedConfig): string[] {
  if (!('problems' in made)) return [];
  return made.problems.map((problem) => (typeof problem === 'string' ? problem : formatProblem(problem)));
}

it('keeps what it made, as long as neither inventory, nor templates, nor sysexts have changed', async () => {
  let sha256 = '1'.repeat(64);
  const text = lab().replace('os: flatcar', 'os: flatcar, sysexts: ignition');
  const { renderer, host, inventory, write, later } = await rendererFor(text, {
    sysextsOf: async () => [
      { name: 'k', version: 'v1', definition: '', image: { file: 'k.raw', url: 'http://a/k.raw', sha256 } },
    ],
  });
  const first = await renderer.preview(host(), 'system');
  later();
  expect(await renderer.preview(host(), 'system')).toBe(first);
  sha256 = '2'.repeat(64);
  const afterSysexts = await renderer.preview(host(), 'system');
  expect(afterSysexts).not.toBe(first);
  inventory.revision = 'two';
  const afterEdit = await renderer.preview(host(), 'system');
  expect(afterEdit).not.toBe(afterSysexts);
  await write('snippets/new.bu', HEAD);
  expect(await renderer.preview(host(), 'system')).not.toBe(afterEdit);
});

it('what is asked of an older revision takes nothing from the one in force', async () => {
  const { renderer, host } = await rendererFor();
  const first = await renderer.preview(host(), 'system');
  const from = { index: new InventoryIndex(inventoryOf(lab())), revision: 'older' };
  const older = await renderer.preview(from.index.host('n1')!, 'system', { from });
  expect(older).toHaveProperty('size');
  expect(older).not.toBe(first);
  expect(await renderer.preview(host(), 'system')).toBe(first);
});

it('tells at once what is kept, of hosts for which nothing has to be asked', async () => {
  const { renderer, host, inventory, write } = await rendererFor();
  expect(renderer.kept(host(), 'system')).toBeUndefined();
  const made = await renderer.preview(host(), 'system');
  expect(renderer.kept(host(), 'system')).toBe(made);
  await renderer.preview(host(), 'system', { format: 'butane' });
  expect(renderer.kept(host(), 'system')).toBe(made);
  await renderer.preview(host(), 'installer');
  expect(renderer.kept(host(), 'installer')).toBeUndefined();
  inventory.revision = 'two';
  expect(renderer.kept(host(), 'system')).toBeUndefined();
  await renderer.preview(host(), 'system');
  expect(renderer.kept(host(), 'system')).toBeDefined();
  await write('snippets/new.bu', HEAD);
  expect(renderer.kept(host(), 'system')).toBeUndefined();

  const asFiles = await rendererFor(lab().replace('os: flatcar', 'os: flatcar, sysexts: ignition'));
  await asFiles.renderer.preview(asFiles.host(), 'system');
  expect(asFiles.renderer.kept(asFiles.host(), 'system')).toBeUndefined();
});

it("shows an edit of the inventory, and a template of a person's own in place of a built-in one", async () => {
  const { renderer, host, inventory, write, own, later } = await rendererFor(WITH_SNIPPET);
  await write('snippets/mine.bu', filesButane({ '/etc/greeting': '{{variables.greeting}}' }));
  expect(fileOf(await renderer.preview(host('n2'), 'system'), '/etc/greeting')).toBe('hello');
  inventory.index = new InventoryIndex(inventoryOf(WITH_SNIPPET.replace('hello', 'moin')));
  inventory.revision = 'two';
  expect(fileOf(await renderer.preview(host('n2'), 'system'), '/etc/greeting')).toBe('moin');

  expect(fileOf(await renderer.preview(host(), 'system'), '/etc/hostname')).toBe('n1\n');
  await write('ignition/base.bu', filesButane({ '/etc/hostname': 'mine: {{host.name}}' }));
  expect(fileOf(await renderer.preview(host(), 'system'), '/etc/hostname')).toBe('mine: n1');
  await rm(join(own, 'ignition/base.bu'));
  later();
  expect(fileOf(await renderer.preview(host(), 'system'), '/etc/hostname')).toBe('n1\n');
});

it("a file that a built-in template takes from templates/ can be a person's own, too", async () => {
  const { renderer, host, write } = await rendererFor();
  await write('ignition/files/containerd.toml', 'version = 2\n');
  expect(fileOf(await renderer.preview(host(), 'system'), '/etc/containerd/config.toml')).toBe(
    'version = 2\n',
  );
});

it('a preview has markers, a revealed one has the secrets, the real one has the token besides', async () => {
  const { renderer, host, write } = await rendererFor(WITH_SNIPPET, { readSecret: () => SECRET });
  await write('snippets/mine.bu', filesButane({ '/etc/db': '{{variables.password}}' }));
  const n2 = host('n2');
  const preview = await renderer.preview(n2, 'system');
  expect(fileOf(preview, '/etc/db')).toBe('<secret: variables.password>');
  const revealed = await renderer.reveal(n2, 'system');
  expect(fileOf(revealed, '/etc/db')).toBe(SECRET);
  expect(fileOf(revealed, '/etc/railhead/token')).toBe('<secret: token of this boot>\n');
  const real = await renderer.render({ host: n2, purpose: 'system', token: 'the-token', wipe: false });
  if ('problems' in real) throw new Error(real.problems.join('\n'));
  expect(fileIn(JSON.parse(real.bytes.toString()), '/etc/railhead/token')?.toString()).toBe('the-token\n');
  expect(await renderer.preview(n2, 'system')).toBe(preview);
});

it('a secret that is not there is a problem, not a crash: the pointer must be answered all the same', async () => {
  const readSecret = () => {
    throw new RailheadError('RH_SECRET_MISSING', 'The secret in x is not there.');
  };
  const { renderer, host, write } = await rendererFor(WITH_SNIPPET, { readSecret });
  await write('snippets/mine.bu', HEAD);
  const request = { host: host('n2'), purpose: 'system' as const, token: 't', wipe: false };
  expect(problemsOf(await renderer.render(request))).toEqual([
    'secret: error: The secret in x is not there.',
  ]);
  expect(problemsOf(await renderer.reveal(host('n2'), 'system'))).toHaveLength(1);
  expect(problemsOf(await renderer.preview(host('n2'), 'system'))).toEqual([]);
});

it.each([
  ['where it is wrong', 'storage:\n  files:\n    - path: "{{variables.password}}"\n'],
  ['where it would be a unit', 'systemd:\n  units:\n    - name: "{{variables.password}}"\n'],
  ['where a number is wanted', 'storage:\n  files:\n    - {path: /a, mode: "{{variables.password}}"}\n'],
  ['as a key', 'storage:\n  "{{variables.password}}": 1\n'],
  ['beside something else that is wrong', 'storage:\n  flies: "{{variables.password}}"\n'],
])('what is wrong never tells a secret: %s', async (_what, body) => {
  const { renderer, host, write } = await rendererFor(WITH_SNIPPET, { readSecret: () => SECRET });
  await write('snippets/mine.bu', `${HEAD}${body}`);
  const request = { host: host('n2'), purpose: 'system' as const, token: 't', wipe: false };
  const problems = [
    ...problemsOf(await renderer.render(request)),
    ...problemsOf(await renderer.reveal(host('n2'), 'system')),
  ];
  expect(problems).not.toEqual([]);
  for (const problem of problems) {
    expect(problem).toMatch(/mine\.bu:\d+:\d+: (error|warning): /);
    expect(problem).not.toContain(SECRET.slice(0, 10));
  }
});

it('what is right with a marker and wrong with the secret is told at its place, without it', async () => {
  const { renderer, host, write } = await rendererFor(WITH_SNIPPET, { readSecret: () => SECRET });
  const paths = ['{{variables.password}}', SECRET].map((name) => `    - path: "/${name}"\n`);
  await write('snippets/mine.bu', `${HEAD}storage:\n  files:\n${paths.join('')}`);
  const request = { host: host('n2'), purpose: 'system' as const, token: 't', wipe: false };
  expect(problemsOf(await renderer.render(request))).toEqual([
    expect.stringMatching(
      /mine\.bu:6:\d+: error: this is right with a marker, but not with the secret that goes here$/,
    ),
  ]);
});

it('with sysexts as files, what the feed lacks is said with what to do', async () => {
  const text = lab().replace('os: flatcar', 'os: flatcar, sysexts: ignition');
  const { renderer, host } = await rendererFor(text, {
    sysextsOf: async () => [{ name: 'kubernetes', version: 'v1.36.4', definition: '', image: undefined }],
  });
  expect(problemsOf(await renderer.preview(host(), 'system'))).toEqual([
    expect.stringContaining('the feed has no kubernetes v1.36.4'),
  ]);
});

it('the second boot of a host gets the same with its own token, and at once what has changed', async () => {
  const { renderer, host, inventory, write, later } = await rendererFor(
    lab('{name: n2, pool: workers, macs: [52:54:00:12:34:02], disk: /dev/disk/by-id/x, snippets: [mine.bu]}'),
  );
  const token = (letter: string) => letter.repeat(22);
  const render = async (letter: string, wipe = false) => {
    const made = await renderer.render({ host: host('n2'), purpose: 'system', token: token(letter), wipe });
    return 'bytes' in made ? made.bytes.toString() : made.problems.join('\n');
  };
  await write('data/motd', 'first');
  const snippet = `${HEAD}storage:\n  files:\n    - {path: /etc/motd, contents: {local: data/motd}}\n`;
  await write('snippets/mine.bu', snippet);
  const first = await render('a');
  expect(first).toContain(token('a'));
  expect(await render('b')).toBe(first.replaceAll(token('a'), token('b')));
  expect(await render('a', true)).not.toBe(first);
  await write('data/motd', 'another');
  expect(await render('a')).toContain('another');
  inventory.revision = 'two';
  host('n2').sshKeys = ['ssh-ed25519 AAAA me'];
  later();
  expect(await render('a')).toContain('ssh-ed25519 AAAA me');
});

it('a token that ends up in a file that is packed is right, too', async () => {
  const { renderer, host, write } = await rendererFor(
    lab('{name: n2, pool: workers, macs: [52:54:00:12:34:02], snippets: [mine.bu]}'),
  );
  await write('snippets/mine.bu', filesButane({ '/etc/large': `${'x'.repeat(5000)}{{token}}` }));
  for (const letter of ['a', 'b', 'c']) {
    const token = letter.repeat(22);
    const made = await renderer.render({ host: host('n2'), purpose: 'system', token, wipe: false });
    const text = 'bytes' in made ? made.bytes.toString() : '';
    expect(fileIn(JSON.parse(text), '/etc/large')?.toString()).toMatch(new RegExp(`x${token}$`));
  }
});
