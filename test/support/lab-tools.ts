import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fillBootFolder } from '../../scripts/lib/bootloaders/fill.mjs';
import { NEEDED } from '../../scripts/lib/bootloaders/table.mjs';
import { cacheFolder } from '../../scripts/lib/cache.mjs';
import { ensureBootloaders } from '../../scripts/lib/ensure-bootloaders.mjs';
import { ensureParts, type Part } from '../../scripts/lib/parts.mjs';
import { ROOT } from './appliance.ts';
import { buildGuest, type Guest } from './guest.ts';
import { whyNoNetwork } from './lab-network.ts';
import { NOTHING_FETCHED, skipped } from './skipped.ts';

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

/** All of it, or `undefined` after one line that says what is missing. */
export async function findLabTools(): Promise<LabTools | undefined> {
  const skip = (why: string): undefined => skipped('virtual machines', why);
  if (process.env.RAILHEAD_TEST_PARTS === 'none') return skip(NOTHING_FETCHED);
  if (process.arch !== 'x64') return skip(`they are x86-64, and this is ${process.arch}`);
  const noNetwork = whyNoNetwork();
  if (noNetwork !== undefined) return skip(noNetwork);

  const parts = await ensureParts(['dnsmasq', 'qemu', 'ovmf', 'guestKernel', 'busybox', 'ignition', 'curl']);
  const { dnsmasq, qemu, ovmf, guestKernel, busybox, ignition, curl } = parts;
  if (!dnsmasq || !qemu || !ovmf || !guestKernel || !busybox || !ignition || !curl)
    return skip('programs for them could not be fetched');

  const bootDir = join(cacheFolder(), 'lab', 'boot');
  await ensureBootloaders({ root: ROOT, bootDir });
  const lacking = NEEDED.filter((file) => !existsSync(join(bootDir, file)));
  if (lacking.length > 0) return skip(`${lacking.join(', ')} can't be had`);
  const hasGrub = await hasGrubWithHttp(bootDir);
  if (!hasGrub) skipped('a boot through GRUB', 'no GRUB with HTTP could be fetched');
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
