import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { LOADERS, NEEDED } from '../../scripts/lib/bootloaders/table.mjs';
import { getLoaders, loaderProblems, loadersFor } from '../../server/doctor/loaders.ts';
import { describeLoaders, missingLoaders } from '../../server/doctor/missing.ts';
import { formatProblem } from '../../server/document/problem.ts';
import type { Arch } from '../../server/inventory/arch.ts';
import type { ProfileSpec } from '../../server/inventory/model.ts';
import { tempFolder } from '../support/temp.ts';

const profile = (name: string, arch: Arch): ProfileSpec => ({
  name,
  os: 'flatcar',
  channel: 'stable',
  version: '4459.2.0',
  arch,
  install: 'disk',
  sysexts: 'sysupdate',
  templates: {},
});
const BOTH = { profiles: [profile('rack', 'amd64'), profile('edge', 'arm64'), profile('rack2', 'amd64')] };

describe('the boot loaders that an inventory needs', () => {
  it.each([
    ['none without profiles', [], []],
    ['amd64', [profile('rack', 'amd64')], ['undionly.kpxe', 'snponly.efi']],
    ['arm64', [profile('edge', 'arm64')], ['snponly-arm64.efi']],
    ['both', BOTH.profiles, ['undionly.kpxe', 'snponly.efi', 'snponly-arm64.efi']],
  ])('%s', (_, profiles, files) => {
    expect(loadersFor({ profiles }).map(({ file }) => file)).toEqual(files);
  });

  it('are told with why and for whom', () => {
    expect(loadersFor(BOTH)[0]).toEqual({
      file: 'undionly.kpxe',
      why: 'BIOS machines start with it',
      arch: 'amd64',
      profiles: ['rack', 'rack2'],
    });
  });

  it('are all among those that `npm run bootloaders` gets, and no start goes without those of amd64', () => {
    const got = LOADERS.map(({ file }) => file);
    for (const { file } of loadersFor(BOTH)) expect(got).toContain(file);
    expect(
      loadersFor({ profiles: [profile('rack', 'amd64')] })
        .map(({ file }) => file)
        .sort(),
    ).toEqual(NEEDED.toSorted());
  });
});

describe('missing boot loaders', () => {
  it('are found by looking', async () => {
    const bootDir = await tempFolder();
    await writeFile(join(bootDir, 'undionly.kpxe'), 'x');
    await mkdir(join(bootDir, 'efi64'));
    const missing = await missingLoaders(BOTH, bootDir);
    expect(missing.map(({ file }) => file)).toEqual(['snponly.efi', 'snponly-arm64.efi']);
    expect(describeLoaders(missing, bootDir)).toEqual([
      {
        what: `the boot loaders snponly.efi, snponly-arm64.efi in ${bootDir}`,
        get: `npm run bootloaders -- --boot ${bootDir}`,
      },
    ]);
    expect(describeLoaders([], bootDir)).toEqual([]);
  });

  it('are an error of each profile whose machines ask for them', () => {
    const missing = loadersFor(BOTH).filter(({ file }) => file !== 'undionly.kpxe');
    const problems = loaderProblems(missing, { inventoryShownAs: 'inventory', bootDir: '/srv/boot' });
    expect(problems.map(formatProblem)).toEqual([
      `inventory: error: profile "rack": amd64 machines can't start: snponly.efi (UEFI machines start with it) is not in /srv/boot; get it with \`npm run bootloaders -- --boot /srv/boot\``,
      expect.stringContaining('profile "rack2": amd64 machines'),
      `inventory: error: profile "edge": arm64 machines can't start: snponly-arm64.efi (UEFI machines start with it) is not in /srv/boot; get it with \`npm run bootloaders -- --boot /srv/boot\``,
    ]);
    expect(loaderProblems([], { inventoryShownAs: 'inventory', bootDir: '/srv/boot' })).toEqual([]);
  });

  it.each([
    [fileURLToPath(new URL('../../boot', import.meta.url)), 'npm run bootloaders'],
    ['/srv/boot', 'npm run bootloaders -- --boot /srv/boot'],
    ["/srv/it's mine", "npm run bootloaders -- --boot '/srv/it'\\''s mine'"],
  ])('in %s are got by %s', (bootDir, command) => {
    expect(getLoaders(bootDir)).toBe(command);
  });
});
