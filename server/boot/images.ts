import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { flatcarBoard } from '../inventory/arch.ts';
import type { HostSpec } from '../inventory/model.ts';

/** Flatcar's files for network boot, under the names that it insists on. */
export const KERNEL = 'flatcar_production_pxe.vmlinuz';
export const INITRD = 'flatcar_production_pxe_image.cpio.gz';

/** Where a host's image is below `assets/`. */
export function imageOf({ os: { os, channel, arch, version } }: HostSpec): string {
  return join(os, channel, flatcarBoard(arch), version);
}

/** Why an image can't be served, or `undefined`. */
export async function imageFault(assetsDir: string, image: string): Promise<string | undefined> {
  for (const file of [KERNEL, INITRD]) {
    const found = await stat(join(assetsDir, image, file)).catch(() => undefined);
    if (found === undefined || !found.isFile()) return `the image ${image} is not there (${file})`;
    if (found.size === 0) return `${image}/${file} is empty`;
  }
  return undefined;
}
