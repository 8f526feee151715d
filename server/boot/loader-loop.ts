import type { NewEvent } from '../events/kinds.ts';

/** Files that are iPXE. */
const IPXE = /(^|\/)(undionly\.kpxe|ipxe\.(pxe|kpxe|efi)|snponly(-\w+)?\.efi|ipxe-\w+\.efi)$/;

const AGAIN_MS = 60_000;
const MAX_ADDRESSES = 2000;

const FIX =
  'let DHCP send those that run iPXE already (they say so by option 175) to the script: see `npx railhead dhcp`';

/**
 * Notices machines that are sent iPXE by DHCP again and again: an iPXE that was loaded asks DHCP once more, and is
 * sent itself instead of its script.
 */
export class LoaderLoops {
  readonly #sentAt = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A loader went to this address; `isIpxe`: it was iPXE itself that asked. */
  sent(address: string, file: string, isIpxe = false): NewEvent | undefined {
    if (!IPXE.test(file)) return undefined;
    const now = this.#now();
    const before = this.#sentAt.get(address);
    this.#sentAt.delete(address);
    this.#sentAt.set(address, now);
    if (this.#sentAt.size > MAX_ADDRESSES) this.#sentAt.delete(this.#sentAt.keys().next().value!);
    const isLoop = isIpxe || (before !== undefined && now - before < AGAIN_MS);
    return isLoop ? { kind: 'boot.loader-loop', data: { client: address, file, fix: FIX } } : undefined;
  }
}
