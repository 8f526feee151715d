import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { fillBootFolder } from '../../scripts/lib/bootloaders/fill.mjs';
import { MANIFEST, parseManifest, sha256 } from '../../scripts/lib/bootloaders/manifest.mjs';
import { GROUPS } from '../../scripts/lib/bootloaders/table.mjs';
import { UNFINISHED } from '../../scripts/lib/files.mjs';
import { tempFolder } from '../support/temp.ts';

let bootDir: string;
let cache: string;

beforeEach(async () => {
  bootDir = join(await tempFolder(), 'boot');
  cache = await tempFolder();
});

/** As a fetch of every group's packages leaves them. */
async function fillCache(version: string, names = GROUPS.map(({ name }) => name)): Promise<void> {
  for (const group of GROUPS.filter(({ name }) => names.includes(name))) {
    const folder = join(cache, group.name, `p_${version}`);
    const files = [];
    for (const { file } of group.loaders) {
      const data = Buffer.from(`${file} ${version}`);
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await writeFile(join(folder, file), data);
      files.push({ file, sha256: sha256(data), package: 'p', version });
    }
    await writeFile(join(folder, '.railhead-set.json'), JSON.stringify({ source: 'Debian x', files }));
  }
}

const fill = () => fillBootFolder({ bootDir, cache, apt: false, log: () => {} });
const content = (file: string) => readFile(join(bootDir, file), 'utf8');
const manifest = async () => parseManifest(await content(MANIFEST));
const put = async (file: string, text: string) => {
  await mkdir(dirname(join(bootDir, file)), { recursive: true });
  await writeFile(join(bootDir, file), text);
};
const written = async () => (await fill()).filter((row) => row.written).map(({ loader }) => loader.file);

describe('filling the boot folder', () => {
  it('puts everything there and writes down from where', async () => {
    await fillCache('1');
    expect((await fill()).every(({ state, written: now }) => state === 'intact' && now)).toBe(true);
    expect(await content('efi64/menu.c32')).toBe('efi64/menu.c32 1');
    expect((await manifest()).get('lpxelinux.0')).toEqual({
      file: 'lpxelinux.0',
      sha256: sha256(Buffer.from('lpxelinux.0 1')),
      package: 'p',
      version: '1',
      source: 'Debian x',
    });
    expect((await readdir(bootDir)).filter((name) => name.startsWith('.'))).toEqual([MANIFEST]);
    expect((await stat(join(bootDir, 'lpxelinux.0'))).mode & 0o777).toBe(0o644);
  });

  it('changes nothing the second time, not even when newer ones are in the cache', async () => {
    await fillCache('1');
    await fill();
    await fillCache('2');
    const before = await stat(join(bootDir, MANIFEST));
    expect(await written()).toEqual([]);
    expect((await stat(join(bootDir, MANIFEST))).mtimeMs).toBe(before.mtimeMs);
    expect(await content('lpxelinux.0')).toBe('lpxelinux.0 1');
  });

  it('keeps a file of the user’s own, and one that was changed', async () => {
    await put('lpxelinux.0', 'mine');
    await fillCache('1');
    await fill();
    await put('snponly.efi', 'patched');
    await rm(join(bootDir, 'ipxe.efi'));
    expect(await written()).toEqual(['ipxe.efi']);
    expect(await content('lpxelinux.0')).toBe('mine');
    expect(await content('snponly.efi')).toBe('patched');
  });

  it('replaces an empty file: a boot loader it is not', async () => {
    await put('lpxelinux.0', '');
    await fillCache('1');
    await fill();
    expect(await content('lpxelinux.0')).toBe('lpxelinux.0 1');
  });

  it('replaces a whole set when one of its files is missing and that version is gone', async () => {
    await fillCache('1');
    await fill();
    await rm(cache, { recursive: true });
    await fillCache('2');
    await rm(join(bootDir, 'menu.c32'));
    await rm(join(bootDir, 'undionly.kpxe'));
    await fill();
    expect([await content('menu.c32'), await content('lpxelinux.0')]).toEqual([
      'menu.c32 2',
      'lpxelinux.0 2',
    ]);
    expect([await content('undionly.kpxe'), await content('snponly.efi')]).toEqual([
      'undionly.kpxe 2',
      'snponly.efi 1',
    ]);
  });

  it('goes on with an update that was interrupted', async () => {
    await fillCache('1');
    await fill();
    await rm(cache, { recursive: true });
    await fillCache('2');
    // The manifest is written first: here it is, with only one file done.
    const entries = await manifest();
    for (const entry of entries.values()) {
      entry.before = entry.sha256;
      entry.sha256 = sha256(Buffer.from(`${entry.file} 2`));
    }
    await put(MANIFEST, JSON.stringify({ files: [...entries.values()] }));
    await put('lpxelinux.0', 'lpxelinux.0 2');
    await put(`${UNFINISHED}1-ldlinux.c32`, 'half');
    const rows = await fill();
    expect(rows.every(({ state, entry }) => state === 'intact' && entry?.before === undefined)).toBe(true);
    expect(await content('ldlinux.c32')).toBe('ldlinux.c32 2');
    expect((await readdir(bootDir)).filter((name) => name.startsWith(UNFINISHED))).toEqual([]);
  });

  it('knows its files again when the manifest was lost', async () => {
    await fillCache('1');
    await fill();
    await rm(join(bootDir, MANIFEST));
    expect((await fill()).every(({ state }) => state === 'intact')).toBe(true);
    expect((await manifest()).size).toBe(45);
  });

  it('does not use what was damaged in the cache', async () => {
    await fillCache('1');
    await writeFile(join(cache, 'syslinux', 'p_1', 'lpxelinux.0'), 'damaged');
    const rows = await fill();
    expect(rows.find(({ loader }) => loader.file === 'lpxelinux.0')).toMatchObject({
      state: 'absent',
      reason: 'RAILHEAD_NO_APT is set',
    });
    expect(rows.find(({ loader }) => loader.file === 'snponly.efi')?.state).toBe('intact');
  });

  it('works twice at the same time', async () => {
    await fillCache('1');
    const both = await Promise.all([fill(), fill()]);
    for (const rows of both) expect(rows.every(({ state }) => state === 'intact')).toBe(true);
  });
});
