import { spawnSync } from 'node:child_process';
import { createCipheriv, createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { cacheFolder } from '../../scripts/lib/cache.mjs';
import type { Part } from '../../scripts/lib/parts.mjs';
import { modulesFor } from './kernel-modules.ts';

/** A system to boot: Debian's kernel, and an initrd with busybox, the real Ignition and the real curl. */
export interface Guest {
  kernel: string;
  initrd: string;
}

export interface GuestParts {
  guestKernel: Part;
  busybox: Part;
  ignition: Part;
  curl: Part;
}

/** A file of an initrd. */
export interface Entry {
  path: string;
  mode: number;
  content: Buffer;
}

const HERE = dirname(fileURLToPath(import.meta.url));
/** Programs that a real system has, and that the guest is better off without. */
const STAND_INS = join(HERE, 'guest-bin');
const FILE = 0o100000;
const FOLDER = 0o040000;
const LINK = 0o120000;
const PROGRAM = FILE | 0o755;

/** What the machines' devices and their data disks need; the rest follows from what these depend on. */
const DRIVERS = ['virtio_pci', 'virtio_net', 'virtio_blk', 'ext4'];

/** Builds it, or takes the one that was built from the same things before. */
export function buildGuest(parts: GuestParts): Guest {
  const entries = [
    ...['bin', 'dev', 'proc', 'sys', 'run', 'tmp', 'modules', 'sysroot', 'sysroot/etc'].map(folder),
    file('init', PROGRAM, join(HERE, 'guest-init.sh')),
    file('bin/dhcp-script', PROGRAM, join(HERE, 'guest-dhcp.sh')),
    file('bin/busybox', PROGRAM, parts.busybox.path),
    file('bin/ignition', PROGRAM, parts.ignition.path),
    file('bin/curl', PROGRAM, parts.curl.path),
    ...libraries([parts.ignition, parts.curl]),
    ...readdirSync(STAND_INS).map((name) => file(`bin/${name}`, PROGRAM, join(STAND_INS, name))),
    ...modules(parts.guestKernel),
    // What Flatcar has already: the user that configurations are about.
    ...['sysroot/home', 'sysroot/home/core'].map(folder),
    text('sysroot/etc/passwd', 'root:x:0:0::/root:/bin/sh\ncore:x:500:500::/home/core:/bin/sh\n'),
    text('sysroot/etc/os-release', 'ID=flatcar\nVERSION_ID=4593.2.5\n'),
    text('sysroot/etc/group', 'root:x:0:\ncore:x:500:\ndocker:x:233:\nsudo:x:150:\n'),
    // Debian's Ignition labels files for SELinux at the end, whether there is any or not.
    folder('sysroot/etc/selinux'),
    text('sysroot/etc/selinux/config', 'SELINUXTYPE=targeted\n'),
    // Programs that it calls, and that the guest can do without.
    ...['setfiles', 'useradd', 'usermod', 'groupadd'].map((name) => ({
      path: `bin/${name}`,
      mode: PROGRAM,
      content: Buffer.from('#!/bin/busybox sh\nexit 0\n'),
    })),
  ];
  const archive = cpio(entries);
  const id = createHash('sha256').update(archive).digest('hex').slice(0, 16);
  const place = join(cacheFolder(), 'guest');
  const initrd = join(place, `${id}.cpio.gz`);
  if (!existsSync(initrd)) {
    mkdirSync(place, { recursive: true });
    const unfinished = `${initrd}.${process.pid}`;
    writeFileSync(unfinished, gzipSync(archive, { level: 6 }));
    renameSync(unfinished, initrd);
  }
  return { kernel: parts.guestKernel.path, initrd };
}

export interface LargeInitrd {
  path: string;
  /** Of the file that makes it large; the guest tells which one it got. */
  md5: string;
}

/** The initrd with a file of this size in a second archive, which no boot loader and no kernel can make smaller. */
export function padInitrd(initrd: string, bytes: number): LargeInitrd {
  const noise = createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16)).update(Buffer.alloc(bytes));
  const md5 = createHash('md5').update(noise).digest('hex');
  const path = `${initrd}.${bytes}`;
  appendArchive(initrd, path, () => cpio([{ path: 'padding', mode: FILE | 0o644, content: noise }]));
  return { path, md5 };
}

/** The initrd with more files in a second archive; they take the place of those that have the same name. */
export function addToInitrd(initrd: string, entries: readonly Entry[]): string {
  const archive = cpio(entries);
  const id = createHash('sha256').update(archive).digest('hex').slice(0, 16);
  const path = initrd.replace(/\.cpio\.gz$/, `-${id}.cpio.gz`);
  appendArchive(initrd, path, () => gzipSync(archive, { level: 6 }));
  return path;
}

function appendArchive(initrd: string, path: string, archive: () => Buffer): void {
  if (existsSync(path)) return;
  const unfinished = `${path}.${process.pid}`;
  copyFileSync(initrd, unfinished);
  // The kernel looks for the next archive at a multiple of four.
  const gap = Buffer.alloc((4 - (readFileSync(initrd).length % 4)) % 4);
  for (const part of [gap, archive()]) writeFileSync(unfinished, part, { flag: 'a' });
  renameSync(unfinished, path);
}

export function folder(path: string): Entry {
  return { path, mode: FOLDER | 0o755, content: Buffer.alloc(0) };
}

export function link(path: string, target: string): Entry {
  return { path, mode: LINK | 0o777, content: Buffer.from(target) };
}

export function text(path: string, content: string): Entry {
  return { path, mode: FILE | 0o644, content: Buffer.from(content) };
}

export function file(path: string, mode: number, from: string): Entry {
  return { path, mode, content: readFileSync(from) };
}

/** What the programs are linked with, where they look for it. */
export function libraries(parts: readonly Part[]): Entry[] {
  const found = new Map(parts.flatMap(linkedWith));
  const folders = new Set([...found.keys()].map((to) => dirname(to)));
  return [...[...folders].map(folder), ...[...found].map(([to, from]) => file(to, PROGRAM, from))];
}

/** Where each has to be, and where it is here. */
function linkedWith({ path, env, loader }: Part): [to: string, from: string][] {
  const [program = '', ...args] = loader.length === 0 ? ['ldd'] : [...loader, '--list'];
  const { stdout } = spawnSync(program, [...args, path], {
    env: { ...process.env, ...env },
    encoding: 'utf8',
  });
  return [...stdout.matchAll(/^\s+(?:(\S+) => )?(\/\S+) \(/gm)].map(([, name, from = '']) => [
    // One that is found by its name is looked for in /lib; the loader has a path of its own.
    name === undefined || name.startsWith('/') ? (name ?? from).slice(1) : join('lib', name),
    from,
  ]);
}

/** And the order that the guest loads them in. */
function modules(kernel: Part): Entry[] {
  const found = modulesFor(kernel.path, DRIVERS);
  return [
    ...found.map(({ name, content }) => ({ path: `modules/${name}.ko`, mode: FILE | 0o644, content })),
    text('modules/order', found.map(({ name }) => `${name}\n`).join('')),
  ];
}

/** The archive format of initrds, "newc": a header of hexadecimal numbers, the name, the content, each padded. */
function cpio(entries: readonly Entry[]): Buffer {
  const chunks: Buffer[] = [];
  const all = [...entries, { path: 'TRAILER!!!', mode: 0, content: Buffer.alloc(0) }];
  all.forEach(({ path, mode, content }, index) => {
    const links = (mode & FOLDER) === FOLDER ? 2 : 1;
    const numbers = [index + 1, mode, 0, 0, links, 0, content.length, 0, 0, 0, 0, path.length + 1, 0];
    const header = `070701${numbers.map((number) => number.toString(16).padStart(8, '0')).join('')}${path}\0`;
    chunks.push(padded(Buffer.from(header, 'latin1')), padded(content));
  });
  return Buffer.concat(chunks);
}

function padded(content: Buffer): Buffer {
  const rest = (4 - (content.length % 4)) % 4;
  return rest === 0 ? content : Buffer.concat([content, Buffer.alloc(rest)]);
}
