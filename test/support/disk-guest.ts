import { basename, dirname, join } from 'node:path';
import { ensureParts, type Part } from '../../scripts/lib/parts.mjs';
import { onPath } from '../../scripts/lib/run.mjs';
import { addToInitrd, type Entry, file, folder, libraries, link } from './guest.ts';
import type { LabTools } from './lab-tools.ts';
import { skipped } from './skipped.ts';

const PROGRAM = 0o100755;
const FILE = 0o100644;

/** Of packages that nearly every Debian has. */
const OF_SYSTEM = ['lsblk', 'mkfs.ext4', 'mountpoint', 'wipefs'];
const KEYGEN = 'ssh-keygen';
/** Those that tell of disks, and watch them. */
const RULES = ['50-udev-default', '60-block', '60-persistent-storage'];
/** One kind is enough: the others take their time in a virtual machine. */
const ONE_KEY = `#!/bin/sh
exec ${KEYGEN}-real -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key
`;

/**
 * The same tools with a guest that has the real programs for disks, and the real udev: as on Flatcar, what is known of
 * a partition is what udev has found out. `undefined` after a line that says what is missing.
 */
export async function withDiskPrograms(tools: LabTools): Promise<LabTools | undefined> {
  const { sfdisk, udev, sshKeygen: keygen } = await ensureParts(['sfdisk', 'udev', 'sshKeygen']);
  const missing = OF_SYSTEM.filter((name) => onPath(name).length === 0);
  if (!sfdisk || !udev || !keygen || missing.length > 0) {
    return skipped('virtual machines with a data disk', `${missing.join(', ') || 'a program'} not found`);
  }
  const programs = [...OF_SYSTEM.map(ofSystem), sfdisk, udev];
  const entries = [
    ...libraries([...programs, keygen]),
    ...programs.map(({ path }) => file(`bin/${basename(path)}`, PROGRAM, path)),
    ...udevEntries(udev),
    folder('sysroot/etc/ssh'),
    file(`bin/${KEYGEN}-real`, PROGRAM, keygen.path),
    { path: `bin/${KEYGEN}`, mode: PROGRAM, content: Buffer.from(ONE_KEY) },
  ];
  return { ...tools, guest: { ...tools.guest, initrd: addToInitrd(tools.guest.initrd, entries) } };
}

/** The daemon is the same program under another name. */
function udevEntries({ path }: Part): Entry[] {
  const rules = join(dirname(dirname(path)), 'lib/udev/rules.d');
  return [
    link('bin/systemd-udevd', 'udevadm'),
    ...['lib/udev', 'lib/udev/rules.d'].map(folder),
    ...RULES.map((name) => file(`lib/udev/rules.d/${name}.rules`, FILE, join(rules, `${name}.rules`))),
  ];
}

function ofSystem(name: string): Part {
  return { path: onPath(name)[0]!, env: {}, loader: [], version: '', source: 'system' };
}
