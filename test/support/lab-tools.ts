import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fillBootFolder } from '../../scripts/lib/bootloaders/fill.mjs';
import { NEEDED } from '../../scripts/lib/bootloaders/table.mjs';
import { cacheFolder } from '../../scripts/lib/cache.mjs';
import { ensureBootloaders } from '../../scripts/lib/ensure-bootloaders.mjs';
import { ensureParts, type Part } from '../../scripts/lib/parts.mjs';
import { ROOT } from './appliance.ts';
import { buildGuest, type Guest } from './guest.ts';

/** What it takes to boot machines here. */
export interface LabTools {
  dnsmasq: Part;
  qemu: Part;
  ovmf: Part;
  guest: Guest;
  /** A folder with boot loaders. */
  bootDir: string;
  /** GRUB's network image is there, too, and has HTTP inside. */
  hasGrub: boolean;
}

/** A private network with a bridge and taps: root's business, and in a container more than that. */
const TRY_NETWORK =
  'ip link add br0 type bridge && ip tuntap add tap0 mode tap && ip link set tap0 master br0';

/** All of it, or `undefined` after one line that says what is missing. */
export async function findLabTools(): Promise<LabTools | undefined> {
  const skip = (why: string): undefined => {
    console.warn(`SKIPPED: no virtual machines are booted: ${why}`);
  };
  if (process.env.RAILHEAD_TEST_PARTS === 'none') return skip('RAILHEAD_TEST_PARTS is none');
  if (process.arch !== 'x64') return skip(`they are x86-64, and this is ${process.arch}`);
  if (process.getuid?.() !== 0) return skip('their network needs root');
  const missing = ['ip', 'nsenter', 'setpriv', 'unshare'].filter(
    (program) => spawnSync(program, ['--help']).error !== undefined,
  );
  if (missing.length > 0) {
    return skip(`${missing.join(', ')} is missing (apt-get install iproute2 util-linux)`);
  }
  const network = spawnSync('unshare', ['-n', 'sh', '-c', TRY_NETWORK], { encoding: 'utf8' });
  if (network.status !== 0) return skip(`they can't have a network of their own: ${network.stderr.trim()}`);

  const parts = await ensureParts(['dnsmasq', 'qemu', 'ovmf', 'guestKernel', 'busybox', 'ignition', 'curl']);
  const { dnsmasq, qemu, ovmf, guestKernel, busybox, ignition, curl } = parts;
  if (!dnsmasq || !qemu || !ovmf || !guestKernel || !busybox || !ignition || !curl) return skip('see above');

  const bootDir = join(cacheFolder(), 'lab', 'boot');
  await ensureBootloaders({ root: ROOT, bootDir });
  const lacking = NEEDED.filter((file) => !existsSync(join(bootDir, file)));
  if (lacking.length > 0) return skip(`${lacking.join(', ')} can't be had`);
  const hasGrub = await hasGrubWithHttp(bootDir);
  if (!hasGrub) console.warn("SKIPPED: no machine boots through GRUB: one with HTTP inside can't be had");
  const guest = buildGuest({ guestKernel, busybox, ignition, curl });
  return { dnsmasq, qemu, ovmf, bootDir, hasGrub, guest };
}

/** It is no default, so a start does not fetch it: this does, and replaces one that is too old. */
async function hasGrubWithHttp(bootDir: string): Promise<boolean> {
  const grub = join(bootDir, 'grubx64.efi');
  const isThere = (): boolean => existsSync(grub) && readFileSync(grub).includes('HTTP/1.1');
  if (!isThere() && process.env.RAILHEAD_NO_APT !== '1') {
    const signal = AbortSignal.timeout(180_000);
    await fillBootFolder({ bootDir, update: true, log: console.warn, signal }).catch(console.warn);
  }
  return isThere();
}
