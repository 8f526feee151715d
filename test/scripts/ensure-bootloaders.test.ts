import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { NEEDED } from '../../scripts/lib/bootloaders/table.mjs';
import { bootFolder, ensureBootloaders, startsServer } from '../../scripts/lib/ensure-bootloaders.mjs';
import { tempFolder } from '../support/temp.ts';

describe('before a start', () => {
  it('does nothing when the needed ones are there', async () => {
    const bootDir = await tempFolder();
    for (const file of NEEDED) await writeFile(join(bootDir, file), 'x');
    const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    await ensureBootloaders({ root: '/nowhere', bootDir });
    expect(said).not.toHaveBeenCalled();
    said.mockRestore();
  });

  it('does nothing when it must not fetch', async () => {
    vi.stubEnv('RAILHEAD_NO_APT', '1');
    const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    await ensureBootloaders({ root: '/nowhere', bootDir: '/nowhere/boot' });
    expect(said).not.toHaveBeenCalled();
    said.mockRestore();
    vi.unstubAllEnvs();
  });

  it('says what is wrong, and never fails', async () => {
    vi.stubEnv('RAILHEAD_NO_APT', '');
    const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    await ensureBootloaders({ root: '/nowhere', bootDir: '/dev/null/boot' });
    const lines = said.mock.calls.map(([text]) => String(text));
    said.mockRestore();
    vi.unstubAllEnvs();
    expect(lines[0]).toMatch(/^Getting boot loaders into \/dev\/null\/boot, because snponly\.efi, /);
    expect(lines.at(-1)).toMatch(/^BOOT LOADERS ARE MISSING .*The start goes on\.\n$/);
  });
});

it.each([
  [['up'], true],
  [['up', '--boot', 'x'], true],
  [['up', '--help'], false],
  [['check'], false],
  [['--version'], false],
  [[], false],
])('%j starts the server: %s', (args, starts) => {
  expect(startsServer(args)).toBe(starts);
});

describe('the boot folder', () => {
  const folder = async (args: string[], env: NodeJS.ProcessEnv = {}, yaml?: string) => {
    const root = await tempFolder();
    if (yaml !== undefined) await writeFile(join(root, 'railhead.yaml'), yaml);
    return bootFolder({ root, args, env, cwd: '/home/me' }).replace(root, 'ROOT');
  };

  it.each([
    ['the usual one', [], {}, undefined, 'ROOT/boot'],
    ['a flag', ['up', '--boot', 'a', '--boot=b'], { RAILHEAD_BOOT: 'c' }, undefined, '/home/me/b'],
    ['the environment', ['up'], { RAILHEAD_BOOT: '/srv/boot' }, 'boot: d', '/srv/boot'],
    ['an empty variable', ['up'], { RAILHEAD_BOOT: '' }, undefined, 'ROOT/boot'],
    ['the settings file', ['up'], {}, 'data: x\nboot: loaders # ours\n', 'ROOT/loaders'],
    ['the settings file, in quotes', ['up'], {}, 'boot: "my loaders"\r\n', 'ROOT/my loaders'],
    ['a settings file without it', ['up'], {}, '# boot: no\ndata:\n  boot: no\n', 'ROOT/boot'],
  ])('by %s', async (_, args, env, yaml, expected) => {
    expect(await folder(args, env, yaml)).toBe(expected);
  });

  it('by another settings file', async () => {
    const dir = await tempFolder();
    await writeFile(join(dir, 'r.yaml'), "boot: 'loaders'\n");
    expect(await folder(['up', '--config', join(dir, 'r.yaml')])).toBe(join(dir, 'loaders'));
  });
});
