import { execFileSync, spawn } from 'node:child_process';
import { chmod, copyFile, cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { Part } from '../../../scripts/lib/parts.mjs';
import { fileIn } from '../../../server/ignition/config-file.ts';
import type { IgnitionConfig } from '../../../server/ignition/spec/schema.ts';

const HERE = dirname(fileURLToPath(import.meta.url));
/** Where this machine is in the network that QEMU makes. */
export const SERVER = '10.0.2.2';

export interface MachineParts {
  qemu: Part;
  guestKernel: Part;
  busybox: Part;
  installTools: Part;
}

/** The only thing that is not real: there is no systemd to ask. It tells what the server knows at that moment. */
const SYSTEMCTL = `#!/bin/sh
echo "GUEST: systemctl $*"
curl --silent "$(cat /etc/known-url)" | grep -o '"stage":"[a-z-]*"' | sed 's/^/GUEST: known /'
sync
[ "$*" = reboot ] && busybox reboot -f
`;

/** What nobody needs in there. */
const LEFT_OUT = /\/usr\/(include|share\/(bash-completion|doc|info|locale|man|zoneinfo|lintian))$/;
/** What its devices and its file systems need. */
const MODULES = /\/kernel\/(arch|block|crypto|drivers\/(block|net|virtio)|fs|fs\/btrfs|lib|net\/core)(\/|$)/;

/** The root of the unpacked tree. */
export function treeOf(tools: Part): string {
  return dirname(dirname(dirname(tools.path)));
}

/** The system of a machine that is to be installed, without its configuration: an initrd. */
export async function buildSystem(parts: MachineParts, flatcarInstall: string, dir: string): Promise<string> {
  const root = join(dir, 'root');
  await cp(treeOf(parts.installTools), root, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (from) => !LEFT_OUT.test(from),
  });
  for (const folder of ['dev', 'proc', 'sys', 'run', 'tmp', 'root']) await mkdir(join(root, folder));
  for (const folder of ['bin', 'sbin', 'lib', 'lib64']) await symlink(`usr/${folder}`, join(root, folder));
  await symlink('bash', join(root, 'usr/bin/sh'));
  await copyFile(parts.busybox.path, join(root, 'usr/bin/busybox'));
  await copyFile(flatcarInstall, join(root, 'usr/bin/flatcar-install'));
  await writeFile(join(root, 'usr/bin/systemctl'), SYSTEMCTL);
  await copyFile(join(HERE, 'guest-init.sh'), join(root, 'init'));
  for (const program of ['usr/bin/busybox', 'usr/bin/flatcar-install', 'usr/bin/systemctl', 'init']) {
    await chmod(join(root, program), 0o755);
  }
  await writeFile(join(root, 'etc/os-release'), 'ID=flatcar\nVERSION_ID=4593.2.5\n');
  await writeFile(join(root, 'etc/passwd'), 'root:x:0:0::/root:/bin/sh\n');
  await copyModules(parts.guestKernel, root);
  return archive(parts.busybox, root, join(dir, 'system.cpio'));
}

async function copyModules(kernel: Part, root: string): Promise<void> {
  const version = basename(kernel.path).replace('vmlinuz-', '');
  const top = dirname(dirname(kernel.path));
  const tree = execFileSync('find', [top, '-type', 'd', '-path', `*/lib/modules/${version}`], {
    encoding: 'utf8',
  }).trim();
  const isWanted = (from: string): boolean =>
    !from.includes('/kernel/') || /\/kernel\/drivers$|\/net$/.test(from) || MODULES.test(from);
  await cp(tree, join(root, 'usr/lib/modules', version), { recursive: true, filter: isWanted });
}

/** All files and units of a configuration, as Ignition would write them. */
export async function configArchive(
  busybox: Part,
  config: IgnitionConfig,
  more: Record<string, string>,
  dir: string,
): Promise<string> {
  const root = join(dir, 'config');
  const write = async (path: string, content: string | Buffer, mode = 0o644): Promise<void> => {
    const place = join(root, path);
    await mkdir(dirname(place), { recursive: true });
    await writeFile(place, content, { mode });
    await chmod(place, mode);
  };
  for (const { path, mode } of config.storage?.files ?? []) {
    await write(path, fileIn(config, path) ?? '', mode ?? 0o644);
  }
  for (const { name, contents } of config.systemd?.units ?? []) {
    if (contents) await write(`etc/systemd/system/${name}`, contents);
  }
  for (const [path, content] of Object.entries(more)) await write(path, content);
  return archive(busybox, root, join(dir, 'config.cpio'));
}

function archive(busybox: Part, root: string, file: string): string {
  execFileSync('sh', ['-c', 'find . | "$0" cpio -o -H newc >"$1"', busybox.path, file], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return file;
}

/** It takes half a minute on idle cores. */
const LIMIT_MS = 400_000;

export interface PowerOn {
  parts: MachineParts;
  /** Archives, one after the other. */
  initrds: readonly string[];
  /** In the order of their slots. */
  disks: readonly { file: string; serial: string }[];
  dir: string;
}

/** Switches a machine on, and waits until it is off; what it said. */
export async function powerOn({
  parts: { qemu, guestKernel },
  initrds,
  disks,
  dir,
}: PowerOn): Promise<string> {
  const initrd = join(dir, 'initrd');
  await writeFile(initrd, Buffer.concat(await Promise.all(initrds.map((file) => readFile(file)))));
  // The kernel ends it when this process dies, however it dies.
  const child = spawn(
    'setpriv',
    [
      ...['--pdeathsig', 'KILL', qemu.path],
      ...['-M', 'q35,accel=tcg,graphics=off', '-cpu', 'max', '-m', '1536', '-no-reboot'],
      ...['-display', 'none', '-monitor', 'none', '-serial', 'stdio'],
      ...['-kernel', guestKernel.path, '-initrd', initrd],
      ...['-append', 'console=ttyS0 quiet no_timer_check panic=-1'],
      ...['-netdev', 'user,id=n0', '-device', 'virtio-net-pci,netdev=n0,romfile='],
      ...disks.flatMap(({ file, serial }, index) => [
        ...['-drive', `if=none,id=d${index},format=raw,file=${file}`],
        ...['-device', `virtio-blk-pci,drive=d${index},serial=${serial}`],
      ]),
    ],
    { env: { ...process.env, ...qemu.env }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString('latin1').replaceAll('\r', '');
    });
  }
  const limit = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  }).finally(() => clearTimeout(limit));
  if (code !== 0) throw new Error(`QEMU ended with ${code}:\n${said}`);
  return said;
}
