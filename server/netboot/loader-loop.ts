import type { NewEvent } from '../events/kinds.ts';

/** Files that are iPXE. */
const IPXE = /(^|\/)(undionly\.kpxe|ipxe\.(pxe|kpxe|efi)|snponly(-\w+)?\.efi|ipxe-\w+\.efi)$/;

/** Once is a boot, twice may be an iPXE in the card's ROM that fetches a newer one or a machine that was reset. */
const LOOP_COUNT = 3;
/** Longer than one round takes, with a switch that keeps its port closed for a while; shorter than a reboot by hand. */
const ROUND_MS = 120_000;
const MAX_ADDRESSES = 2000;

const FIX =
  'let DHCP send those that run iPXE already (they say so by option 175) to the script: see `npx railhead dhcp`';

interface Downloads {
  file: string;
  count: number;
  lastAt: number;
}

/**
 * Notices machines that DHCP sends iPXE again and again: an iPXE that was loaded asks DHCP once more, and is sent
 * itself instead of its script. So the same address fetches the same file over and over and never asks for a menu.
 */
export class LoaderLoops {
  readonly #downloads = new Map<string, Downloads>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A loader went to this address. */
  sent(address: string, file: string): NewEvent | undefined {
    if (!IPXE.test(file)) return undefined;
    const lastAt = this.#now();
    const before = this.#downloads.get(address);
    const isNextRound = before?.file === file && lastAt - before.lastAt < ROUND_MS;
    const count = isNextRound ? before.count + 1 : 1;
    // Deleted first: the map keeps the order of insertion, and the oldest has to go.
    this.#downloads.delete(address);
    this.#downloads.set(address, { file, count, lastAt });
    if (this.#downloads.size > MAX_ADDRESSES) this.#downloads.delete(this.#downloads.keys().next().value!);
    if (count < LOOP_COUNT) return undefined;
    return { kind: 'boot.loader-loop', data: { client: address, file, fix: FIX } };
  }

  /** This address asked for a menu: the loader that it fetched works. */
  gotMenu(address: string): void {
    this.#downloads.delete(address);
  }
}
