import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, open, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Part } from '../../../scripts/lib/parts.mjs';
import { treeOf } from './machine.ts';

const MIB = 1024 * 1024;

/** As Flatcar's disks are divided, but smaller: number, label, MiB. */
const PARTITIONS = [
  [1, 'EFI-SYSTEM', 4],
  [2, 'BIOS-BOOT', 1],
  [3, 'USR-A', 4],
  [4, 'USR-B', 4],
  [6, 'OEM', 32],
  [7, 'OEM-CONFIG', 1],
  [9, 'ROOT', 8],
] as const;

const START = Object.fromEntries(
  PARTITIONS.map(([, label], index) => [
    label,
    PARTITIONS.slice(0, index).reduce((at, [, , size]) => at + size, 1) * MIB,
  ]),
);
const IMAGE_BYTES = PARTITIONS.reduce((bytes, [, , size]) => bytes + size * MIB, 2 * MIB);
const OEM = { start: START.OEM!, bytes: 32 * MIB };

export interface DiskTools {
  sfdisk: Part;
  /** With btrfs, which Flatcar's OEM partition has. */
  installTools: Part;
}

/** A disk image in a new file: partitions with noise in them, and an empty file system for the OEM. */
export async function makeImage({ sfdisk, installTools }: DiskTools, file: string): Promise<void> {
  await writeFile(file, '');
  await truncate(file, IMAGE_BYTES);
  const lines = PARTITIONS.map(
    ([number, label, size]) =>
      `${file}${number} : start=${START[label]! / 512}, size=${(size * MIB) / 512}, name="${label}"\n`,
  );
  execFileSync(sfdisk.path, ['--quiet', file], {
    input: `label: gpt\n${lines.join('')}`,
    env: { ...process.env, ...sfdisk.env },
  });
  const disk = await open(file, 'r+');
  for (const [, label] of PARTITIONS) {
    const content = label === 'OEM' ? await oemFileSystem(installTools, file) : randomBytes(65_536);
    await disk.write(content, 0, content.length, START[label]!);
  }
  await disk.close();
}

async function oemFileSystem(tools: Part, beside: string): Promise<Buffer> {
  const file = `${beside}.oem`;
  await writeFile(file, '');
  await truncate(file, OEM.bytes);
  runTool(tools, 'usr/sbin/mkfs.btrfs', ['--quiet', '--mixed', '--label', 'OEM', file]);
  const content = await readFile(file);
  await rm(file);
  return content;
}

/** What of a disk has to be as in the image: all but the partition that is written to. */
export function withoutOem(disk: Buffer): Buffer {
  const image = Buffer.from(disk.subarray(0, IMAGE_BYTES));
  return image.fill(0, OEM.start, OEM.start + OEM.bytes);
}

/** What the OEM partition of a disk has in it: mode and content of its files. */
export async function oemFiles(
  tools: Part,
  disk: Buffer,
  dir: string,
): Promise<Record<string, { mode: number; content: string }>> {
  const at = await mkdtemp(join(dir, 'oem-'));
  const partition = join(at, 'partition');
  const into = join(at, 'files');
  await writeFile(partition, disk.subarray(OEM.start, OEM.start + OEM.bytes));
  await mkdir(into);
  runTool(tools, 'usr/bin/btrfs', ['restore', '--metadata', partition, into]);
  const names = execFileSync('find', [into, '-type', 'f', '-printf', '%P\\n'], { encoding: 'utf8' });
  const files = names.split('\n').filter(Boolean);
  return Object.fromEntries(
    await Promise.all(
      files.map(async (name) => {
        const path = join(into, name);
        return [name, { mode: (await stat(path)).mode & 0o777, content: await readFile(path, 'utf8') }];
      }),
    ),
  );
}

/** Runs a program of the tree here, with the tree's own loader. */
function runTool(tools: Part, program: string, args: readonly string[]): void {
  const [loader = '', ...rest] = tools.loader;
  execFileSync(loader, [...rest, join(treeOf(tools), program), ...args], { stdio: 'pipe' });
}
