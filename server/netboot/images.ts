import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { flatcarBoard } from '../inventory/arch.ts';
import type { HostSpec } from '../inventory/model.ts';
import type { ImageSizes } from '../machine/attempts.ts';

/** Flatcar's files for network boot, under the names that it insists on. */
export const KERNEL = 'flatcar_production_pxe.vmlinuz';
export const INITRD = 'flatcar_production_pxe_image.cpio.gz';

/** Where a host's image is below `assets/`; `current` is the version that it stands for now, if that is known. */
export function imageOf({ os: { os, channel, arch, version } }: HostSpec, current?: string): string {
  return join(os, channel, flatcarBoard(arch), version === 'current' ? (current ?? version) : version);
}

/**
 * What there is of an image, or why it can't be served. `recordedSize` knows the files that the mirror has verified:
 * one that is shorter or longer by now is damaged.
 */
export async function inspectImage(
  assetsDir: string,
  image: string,
  recordedSize: (name: string) => Promise<number | undefined>,
): Promise<{ sizes: ImageSizes } | { fault: string }> {
  const sizes: number[] = [];
  for (const file of [KERNEL, INITRD]) {
    const found = await stat(join(assetsDir, image, file)).catch(() => undefined);
    if (found === undefined || !found.isFile()) return { fault: `the image ${image} is not there (${file})` };
    if (found.size === 0) return { fault: `${image}/${file} is empty` };
    const recorded = (await recordedSize(join(image, file))) ?? found.size;
    if (found.size !== recorded) {
      return {
        fault: `${image}/${file} has ${found.size} bytes in place of ${recorded}: \`railhead assets verify\``,
      };
    }
    sizes.push(found.size);
  }
  const [kernel = 0, initrd = 0] = sizes;
  return { sizes: { kernel, initrd } };
}
