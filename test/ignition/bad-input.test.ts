import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyBaseLogger } from 'fastify';
import pino from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Vault } from '../../server/access/vault.ts';
import { buildHttpApp } from '../../server/http/app.ts';
import { ConfigDelivery } from '../../server/ignition/delivery.ts';
import { ConfigRenderer } from '../../server/ignition/renderer.ts';
import { INITRD, imageOf, KERNEL } from '../../server/netboot/images.ts';
import { TemplateFolders, templateFolders } from '../../server/templating/template-folders.ts';
import { httpContext } from '../support/http-context.ts';
import { tempFolder } from '../support/temp.ts';
import { compose, FEED, faultsOf, filesButane, HEAD, SERVER, textIn } from './make.ts';

const BOMB = `${HEAD}a: &a [x, x, x, x, x, x, x, x, x, x]
${'abcdefgh'
  .split('')
  .slice(1)
  .map((name, index) => `${name}: &${name} [${`*${'abcdefgh'[index]}, `.repeat(10)}]`)
  .join('\n')}
`;
const LARGE = `${HEAD}storage:
  files:
{{#each list}}
    - path: /f{{@index}}
      contents: {inline: "{{@root.text}}"}
{{/each}}
`;

/** Templates that can't become a configuration, and what is said about each. */
const BAD: Record<string, { sources: Record<string, string | Uint8Array>; says: RegExp }> = {
  'a YAML bomb': { sources: { 'bad.bu': BOMB }, says: /^bad\.bu:\d+:\d+: error: .*(alias|large|values)/ },
  'partials in a circle': {
    sources: { 'bad.bu': `${HEAD}{{> other.bu}}\n`, 'other.bu': '# {{> bad.bu}}\n' },
    says: /^other\.bu:1:\d+: error: .*includes itself: bad\.bu > other\.bu > bad\.bu/,
  },
  'not UTF-8': {
    sources: { 'bad.bu': Buffer.from([...Buffer.from(HEAD), 0xff, 0xfe]) },
    says: /^bad\.bu: error: not UTF-8/,
  },
  'a name that is not there': {
    sources: { 'bad.bu': `${HEAD}\nstorage: {{variabels}}\n` },
    says: /^bad\.bu:4:\d+: error: unknown name "variabels"; did you mean "variables"/,
  },
  'a name that is not there, in a condition': {
    sources: { 'bad.bu': `${HEAD}{{#if variables.nope}}{{/if}}\n` },
    says: /^bad\.bu:3:\d+: error: unknown name "nope"/,
  },
  'a block that is not closed': {
    sources: { 'bad.bu': `${HEAD}{{#if text}}\n` },
    says: /^bad\.bu:\d+:\d+: error: .*not closed/,
  },
  'no YAML': { sources: { 'bad.bu': `${HEAD}a: [\n` }, says: /^bad\.bu:\d+:\d+: error: / },
  nothing: { sources: { 'bad.bu': '' }, says: /^bad\.bu\S*: error: / },
};

it.each(Object.entries(BAD))('%s: a problem with the file and the line', (_what, { sources, says }) => {
  const values = { variables: {}, text: 'x' };
  const faults = faultsOf(compose(sources, { values, layers: ['bad.bu'] }));
  expect(faults.length).toBeGreaterThan(0);
  expect(faults[0]).toMatch(says);
});

it('a configuration of 50 MB is refused before anybody has to hold it', () => {
  const values = { list: Array.from({ length: 50 }), text: 'x'.repeat(1024 * 1024) };
  const [fault] = faultsOf(compose({ 'bad.bu': LARGE }, { values }));
  expect(fault).toMatch(/^bad\.bu:7:\d+: error: .*larger than 8 MiB/);
});

it('layers that are bearable alone and too large together are refused', () => {
  const text = 'x'.repeat(6 * 1024 * 1024);
  const layer = (path: string) =>
    `${HEAD}storage:\n  files:\n    - path: ${path}\n      contents: {source: "data:,{{text}}"}\n`;
  const [fault] = faultsOf(compose({ 'a.bu': layer('/a'), 'b.bu': layer('/b') }, { values: { text } }));
  expect(fault).toMatch(/^a\.bu \+ b\.bu: error: the configuration has \d+ bytes; at most \d+ are served/);
});

it.each([
  'quotes " and \' and `',
  'a line\nand: another\n- x',
  '{{host.name}} {{> x}} }}',
  'storage: {files: []} # &a *a !!x',
  '\u0000\u001b[31m\u2028',
])('a variable is a value, whatever is in it: %j', (text) => {
  const template = `${HEAD}storage:\n  files:\n    - path: /f\n      contents: {inline: "{{text}}"}\n`;
  expect(textIn(compose({ 'a.bu': template }, { values: { text } }), '/f')).toBe(text);
});

/** An app with a person's own templates, whose hosts n1 and n2 have fetched their kernels. */
async function world() {
  const base = await httpContext();
  const own = await tempFolder();
  let now = 0;
  const renderer = new ConfigRenderer({
    inventory: () => base.inventory,
    templates: new TemplateFolders({ now: () => ++now * 1000, folders: templateFolders(own) }),
    server: () => SERVER,
    readSecret: () => '',
    sysextsOf: async () => [],
    feed: async () => FEED,
  });
  const vault = new Vault(Buffer.alloc(32, 7));
  const delivery = new ConfigDelivery({
    store: base.store,
    events: base.events,
    now: Date.now,
    isNews: () => true,
    seal: (content, about) => vault.seal(content, about),
    unseal: (sealed, about) => vault.unseal(sealed, about),
    render: renderer.render,
  });
  const context = { ...base, renderer, delivery };
  const logger = pino({ level: 'silent' }) as FastifyBaseLogger;
  const plain = buildHttpApp({ context, logger });
  const secure = buildHttpApp({ context, logger, tls: { cert: '', key: '' } });
  onTestFinished(async () => {
    await plain.close();
    await secure.close();
  });
  const image = join(base.assetsDir, imageOf(base.inventory.index.host('n1')!));
  await mkdir(image, { recursive: true });
  for (const file of [KERNEL, INITRD]) await writeFile(join(image, file), file);
  await mkdir(join(own, 'snippets'));
  return {
    context,
    own,
    preview: (host: string) => plain.inject(`/ignition/${host}`),
    boot: async (mac: string) => {
      const menu = (await plain.inject(`/boot.ipxe?mac=${mac}`)).body;
      const token = /\/boot\/([\w-]{22})\//.exec(menu)![1]!;
      const pointer = await plain.inject(`/boot/${token}/pointer.ign`);
      const headers = { authorization: `Bearer ${token}` };
      return { pointer, config: () => secure.inject({ url: `/boot/${token}/config.ign`, headers }) };
    },
  };
}

describe('over HTTP', () => {
  const some = ['a YAML bomb', 'not UTF-8', 'a name that is not there'];
  it.each(Object.entries(BAD).filter(([what]) => some.includes(what)))(
    '%s: its host waits (503, and an event says why), the others boot',
    async (_what, { sources }) => {
      const { context, own, boot, preview } = await world();
      await writeFile(join(own, 'snippets/bad.bu'), sources['bad.bu']!);
      context.inventory.index.host('n1')!.snippets = ['bad.bu'];
      const { pointer, config } = await boot('52:54:00:12:34:01');
      expect(pointer.statusCode).toBe(200);
      expect(pointer.json().ignition.config.replace).not.toHaveProperty('verification');
      expect((await config()).statusCode).toBe(503);
      expect(await context.events.list({ kind: 'ignition.failed', limit: 1 })).toMatchObject([
        { host: 'n1', data: { problems: [expect.stringContaining('bad.bu')] } },
      ]);
      const shown = await preview('n1');
      expect(shown.statusCode).toBe(503);
      expect(shown.json().error.message).toContain('bad.bu');
      const other = await boot('52:54:00:12:34:02');
      expect(other.pointer.json().ignition.config.replace).toHaveProperty('verification');
      expect((await other.config()).statusCode).toBe(200);
    },
  );

  it('a template is removed while it runs: what was promised stands, what comes after waits until it is back', async () => {
    const { context, own, boot } = await world();
    const path = join(own, 'snippets/mine.bu');
    await writeFile(path, filesButane({ '/etc/mine': 'x' }));
    for (const name of ['n1', 'n2']) context.inventory.index.host(name)!.snippets = ['mine.bu'];
    const promised = await boot('52:54:00:12:34:01');
    await rm(path);
    expect((await promised.config()).statusCode).toBe(200);
    const waiting = await boot('52:54:00:12:34:02');
    expect((await waiting.config()).statusCode).toBe(503);
    await writeFile(path, filesButane({ '/etc/mine': 'x' }));
    expect((await waiting.config()).statusCode).toBe(200);
  });
});
