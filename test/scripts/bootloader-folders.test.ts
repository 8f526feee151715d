import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { efiArch } from '../../scripts/lib/bootloaders/efi.mjs';
import { findLoader } from '../../scripts/lib/bootloaders/folders.mjs';
import {
  parseApk,
  parseDpkgOwners,
  parsePacman,
  parseRpm,
  withVersions,
} from '../../scripts/lib/bootloaders/owner.mjs';
import { LOADERS } from '../../scripts/lib/bootloaders/table.mjs';
import { tempFolder } from '../support/temp.ts';

function efiProgram(machine: number): Buffer {
  const data = Buffer.alloc(0x100);
  data.write('MZ', 0, 'latin1');
  data.writeUInt32LE(0x80, 0x3c);
  data.write('PE\0\0', 0x80, 'latin1');
  data.writeUInt16LE(machine, 0x84);
  return data;
}

const X64 = efiProgram(0x8664);
const AA64 = efiProgram(0xaa64);

async function tree(files: Record<string, Buffer | string>): Promise<string> {
  const root = await tempFolder();
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    if (typeof content === 'string') await symlink(content, join(root, name));
    else await writeFile(join(root, name), content);
  }
  return root;
}

const loader = (name: string) => LOADERS.find(({ file }) => file === name)!;

describe('what an EFI program is for', () => {
  it.each([
    ['x86-64', X64, 'amd64'],
    ['arm64', AA64, 'arm64'],
    ['another machine', efiProgram(0x14c), undefined],
    ['no program', Buffer.from('#!ipxe\n'), undefined],
    ['nothing', Buffer.alloc(0), undefined],
    ['one that is cut short', X64.subarray(0, 0x82), undefined],
  ])('%s', (_, data, arch) => {
    expect(efiArch(data)).toBe(arch);
  });
});

describe('finding a boot loader', () => {
  it.each([
    ['Debian', 'lpxelinux.0', 'usr/lib/PXELINUX/lpxelinux.0'],
    ['Fedora', 'lpxelinux.0', 'usr/share/syslinux/lpxelinux.0'],
    ['Arch', 'efi64/menu.c32', 'usr/lib/syslinux/efi64/menu.c32'],
    ['Fedora', 'snponly.efi', 'usr/share/ipxe/ipxe-snponly-x86_64.efi'],
    ['openSUSE', 'snponly.efi', 'usr/share/ipxe/snp-x86_64.efi'],
    ['Arch', 'snponly.efi', 'usr/share/ipxe/x86_64/ipxe.efi'],
    ['Ubuntu', 'shimx64.efi', 'usr/lib/shim/shimx64.efi.signed.latest'],
  ])('on %s: %s', async (_, file, path) => {
    const root = await tree({ [path]: X64 });
    expect(findLoader(root, loader(file))?.path).toBe(join(root, path));
  });

  it('takes ipxe-arm64.efi for snponly-arm64.efi where there is no such build', async () => {
    const root = await tree({ 'usr/lib/ipxe/ipxe-arm64.efi': AA64 });
    expect(findLoader(root, loader('snponly-arm64.efi'))?.path).toBe(
      join(root, 'usr/lib/ipxe/ipxe-arm64.efi'),
    );
  });

  it('follows links as if the tree were the root', async () => {
    const root = await tree({ 'usr/lib/ipxe/ipxe.efi': '/boot/real.efi', 'boot/real.efi': X64 });
    expect(findLoader(root, loader('ipxe.efi'))?.path).toBe(join(root, 'boot/real.efi'));
  });

  it('passes over links to nowhere and in circles, folders, empty files and other architectures', async () => {
    const root = await tree({
      'usr/lib/ipxe/snponly.efi': 'nowhere',
      'usr/share/ipxe/ipxe-snponly-x86_64.efi': 'ipxe-snponly-x86_64.efi',
      'usr/share/ipxe/snponly.efi/x': X64,
      'usr/share/ipxe/snp-x86_64.efi': AA64,
      'usr/lib/ipxe/ipxe-amd64.efi': Buffer.alloc(0),
      'usr/share/ipxe/ipxe.efi': X64,
    });
    expect(findLoader(root, loader('snponly.efi'))?.path).toBe(join(root, 'usr/share/ipxe/ipxe.efi'));
  });

  it('finds none', async () => {
    expect(findLoader(await tempFolder(), loader('snponly.efi'))).toBeUndefined();
  });
});

describe('which package a file belongs to', () => {
  const file = '/usr/share/syslinux/menu.c32';

  it('by dpkg', () => {
    const names = parseDpkgOwners(
      `syslinux-common: ${file}\nlibc6:amd64, libc6:i386: /usr/share/doc/libc6\n`,
    );
    expect(names.get(file)).toBe('syslinux-common');
    const owners = withVersions(names, 'syslinux-common 3:6.04-3\nlibc6:amd64 2.36\n');
    expect(owners.get(file)).toEqual({ package: 'syslinux-common', version: '3:6.04-3' });
    expect(owners.get('/usr/share/doc/libc6')).toEqual({ package: 'libc6', version: '2.36' });
  });

  it('by rpm', () => {
    const out = `file /x is not owned by any package\nsyslinux-nonlinux 6.04-0.30.fc42\n`;
    expect(parseRpm(out, ['/x', file])).toEqual(
      new Map([[file, { package: 'syslinux-nonlinux', version: '6.04-0.30.fc42' }]]),
    );
  });

  it('by pacman', () => {
    expect(parsePacman(`${file} is owned by syslinux 6.04.pre3-3\n`)).toEqual(
      new Map([[file, { package: 'syslinux', version: '6.04.pre3-3' }]]),
    );
  });

  it('by apk', () => {
    expect(parseApk(`${file} is owned by syslinux-6.04_pre1-r15\n`)).toEqual(
      new Map([[file, { package: 'syslinux', version: '6.04_pre1-r15' }]]),
    );
  });
});
