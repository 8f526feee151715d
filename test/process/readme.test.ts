import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { beforeAll, describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { inventoryJsonSchema } from '../../server/cli/schema.ts';
import { loadInventory } from '../../server/inventory/load.ts';
import { declarationOf, envOf, flagOf, SETTING_NAMES } from '../../server/settings.ts';
import { ROOT, sharedAppliance } from '../support/appliance.ts';

/** What is written for users must be true. */
const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
const blocks = (language: string): string[] =>
  [...readme.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 'gs'))].map((match) => match[1]!);
const commands = blocks('sh').flatMap((block) => block.trim().split('\n'));

describe('every command in the README', () => {
  const appliance = sharedAppliance();

  beforeAll(async () => {
    const { dir } = appliance().site;
    await writeFile(join(dir, 'passphrase.txt'), 'correct horse battery staple\n');
    // As after `npm start`, which gets the boot loaders.
    await mkdir(join(dir, 'boot'));
    for (const file of ['undionly.kpxe', 'lpxelinux.0', 'ldlinux.c32', 'snponly.efi'])
      await writeFile(join(dir, 'boot', file), 'x');
  });

  it.each(commands)(
    '%s',
    async (command) => {
      const words = command.split(' ');
      if (words[0] === 'npm') {
        // `npm test` is what runs this, and test/process/start.test.ts starts the appliance: the scripts must be there.
        expect(Object.keys(packageJson.scripts)).toContain(words[1] === 'run' ? words[2] : words[1]);
      } else if (words[0] === 'npx') {
        const { code, stdout, stderr } = await appliance().cli(...words.slice(2));
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        expect(stdout).not.toBe('');
      } else if (words[0] === 'curl') {
        const { pathname } = new URL(words[1]!);
        expect((await appliance().ask(pathname)).status).toBe(200);
      } else {
        expect.fail(`nobody tests "${command}": teach this test to`);
      }
      // Fifty machines that boot take their time on a busy one.
    },
    240_000,
  );
});

it('the inventory in the README is right as it is', () => {
  const [text = ''] = blocks('yaml');
  expect(load(text)).toBeTypeOf('object');
  const { inventory, problems } = loadInventory({ files: [{ name: 'README.md', text }], problems: [] });
  expect(problems).toEqual([]);
  expect(inventory?.hosts).toHaveLength(1);
});

it('every file that README and docs link to is there', () => {
  for (const file of [
    'README.md',
    'docs/inventory.md',
    'docs/assets.md',
    'docs/boot.md',
    'docs/tftp.md',
    'docs/bootloaders.md',
    'docs/simulate.md',
    'docs/api.md',
    'docs/settings.md',
    'docs/docker.md',
    'docs/architecture.md',
  ]) {
    const text = readFileSync(join(ROOT, file), 'utf8');
    const links = [...text.matchAll(/\]\(([^)#:]+)(#[^)]*)?\)/g)].map((match) => match[1]!);
    for (const link of links) expect(existsSync(join(ROOT, file, '..', link)), `${file}: ${link}`).toBe(true);
  }
});

it('docs/settings.md has every setting, its flag and its variable', () => {
  const text = readFileSync(join(ROOT, 'docs', 'settings.md'), 'utf8');
  for (const name of SETTING_NAMES) {
    const row = text.split('\n').find((line) => line.startsWith(`| \`${name}\` |`));
    expect(row, name).toContain(envOf(name));
    if (declarationOf(name).argument !== undefined) expect(row, name).toContain(`\`${flagOf(name)}\``);
  }
});

it('inventory/schema.json, which editors read, is what `railhead schema` prints', () => {
  const kept: unknown = JSON.parse(readFileSync(join(ROOT, 'inventory', 'schema.json'), 'utf8'));
  expect(kept).toEqual(inventoryJsonSchema());
});
