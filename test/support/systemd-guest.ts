import { readdirSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureParts, type Part } from '../../scripts/lib/parts.mjs';
import { addToInitrd, type Entry, file, folder, libraries, link } from './guest.ts';
import type { LabTools } from './lab-tools.ts';
import { skipped } from './skipped.ts';

/** Units and stand-ins, below the paths that they have in the guest. */
const OVERLAY = join(dirname(fileURLToPath(import.meta.url)), 'guest-systemd');
const PROGRAM = 0o100755;
const FILE = 0o100644;

const PROGRAMS = ['usr/lib/systemd/systemd', 'usr/lib/systemd/systemd-executor', 'usr/bin/systemctl'];
/** The rest of the C library that they bring: an older one's would not fit to it. */
const C_LIBRARY = ['libdl.so.2', 'libpthread.so.0', 'libresolv.so.2', 'librt.so.1'];

/** Those that a service depends on, and none that starts anything by itself. */
const TARGETS =
  `basic local-fs local-fs-pre multi-user network network-online network-pre paths shutdown slices
  sockets swap sysinit time-set time-sync timers umount`.split(/\s+/);

/**
 * The same tools with a guest in which the real systemd, of the version that Flatcar has, starts what Ignition wrote.
 * Kubernetes, containerd and the clock are stand-ins: see guest-systemd. `undefined` after a line that says what is
 * missing.
 */
export async function withSystemd(tools: LabTools): Promise<LabTools | undefined> {
  const { sysupdate257: systemd } = await ensureParts(['sysupdate257']);
  if (systemd === undefined) {
    return skipped('virtual machines with systemd', 'systemd 257 is missing');
  }
  const entries = [...systemdEntries(systemd), ...overlay(OVERLAY)];
  return { ...tools, guest: { ...tools.guest, initrd: addToInitrd(tools.guest.initrd, entries) } };
}

function systemdEntries(systemd: Part): Entry[] {
  const root = systemd.path.slice(0, -'/usr/lib/systemd/systemd-sysupdate'.length);
  const [loader = ''] = systemd.loader;
  return [
    ...libraries(PROGRAMS.map((path) => ({ ...systemd, path: join(root, path) }))),
    ...C_LIBRARY.map((name) => file(`lib/${name}`, PROGRAM, join(dirname(loader), name))),
    ...['usr', 'usr/lib', 'usr/lib/systemd', 'usr/lib/systemd/system', 'var', 'tmp'].map((path) =>
      folder(`sysroot/${path}`),
    ),
    link('sysroot/usr/bin', '../bin'),
    file('bin/systemctl', PROGRAM, join(root, 'usr/bin/systemctl')),
    ...PROGRAMS.slice(0, 2).map((path) => file(`sysroot/${path}`, PROGRAM, join(root, path))),
    ...TARGETS.map((name) => {
      const path = `usr/lib/systemd/system/${name}.target`;
      return file(`sysroot/${path}`, FILE, join(root, path));
    }),
    link('sysroot/usr/lib/systemd/system/default.target', 'multi-user.target'),
  ];
}

/** Everything below a folder, with folders before what is in them. */
function overlay(from: string): Entry[] {
  const found = readdirSync(from, { recursive: true, withFileTypes: true });
  return found
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => {
      const to = `sysroot/${relative(from, path)}`;
      const status = statSync(path);
      if (status.isDirectory()) return folder(to);
      return file(to, status.mode & 0o100 ? PROGRAM : FILE, path);
    });
}
