import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { flatcarBoard } from '../inventory/arch.ts';
import type { Inventory, ProfileSpec } from '../inventory/model.ts';

/** Something the appliance needs and doesn't have, with the command that gets it. */
export interface Missing {
  what: string;
  get: string;
}

export interface MissingInput {
  inventory: Inventory;
  bootDir: string;
  assetsDir: string;
}

/** The first files a machine asks for, by firmware. */
export const BOOT_FILES = { bios: 'lpxelinux.0', uefi: 'snponly.efi' } as const;

const PXE_FILES = ['flatcar_production_pxe.vmlinuz', 'flatcar_production_pxe_image.cpio.gz'];

export async function findMissing({ inventory, bootDir, assetsDir }: MissingInput): Promise<Missing[]> {
  return [...(await missingImages(inventory, assetsDir)), ...(await missingLoaders(bootDir))];
}

async function missingImages({ profiles }: Inventory, assetsDir: string): Promise<Missing[]> {
  const missing: Missing[] = [];
  for (const [path, profile] of new Map(profiles.map((profile) => [imagePath(profile), profile]))) {
    const folder = join(assetsDir, 'flatcar', path);
    const lacking = await absent(folder, PXE_FILES);
    if (lacking.length === 0) continue;
    const { os, channel, version, arch } = profile;
    const files = lacking.length === 1 ? lacking[0] : `{${lacking.join(',')}}`;
    const url = `https://${channel}.release.flatcar-linux.net/${flatcarBoard(arch)}/${version}/${files}`;
    missing.push({
      what: `the OS image ${os} ${channel} ${version} ${arch}`,
      get: `curl -fL --create-dirs --output-dir ${folder} --remote-name-all "${url}"`,
    });
  }
  return missing;
}

/** Where an OS image is, below `assets/flatcar` and in the URLs it is served at. */
function imagePath({ channel, arch, version }: ProfileSpec): string {
  return join(channel, flatcarBoard(arch), version);
}

async function missingLoaders(bootDir: string): Promise<Missing[]> {
  const files = await absent(bootDir, Object.values(BOOT_FILES));
  if (files.length === 0) return [];
  return [
    {
      what: `the boot loaders ${files.join(', ')} in ${bootDir}`,
      get: "copy them from your distribution's pxelinux and ipxe packages",
    },
  ];
}

async function absent(dir: string, names: readonly string[]): Promise<string[]> {
  const checked = await Promise.all(
    names.map(async (name) => {
      const there = await access(join(dir, name)).then(
        () => true,
        () => false,
      );
      return there ? [] : [name];
    }),
  );
  return checked.flat();
}
