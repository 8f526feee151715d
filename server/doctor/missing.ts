import { access, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { flatcarBoard } from '../inventory/arch.ts';
import type { Inventory, ProfileSpec } from '../inventory/model.ts';
import { getLoaders, loadersFor, type NeededLoader } from './loaders.ts';

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

const PXE_FILES = ['flatcar_production_pxe.vmlinuz', 'flatcar_production_pxe_image.cpio.gz'];

export async function findMissing({ inventory, bootDir, assetsDir }: MissingInput): Promise<Missing[]> {
  return [
    ...(await missingImages(inventory, assetsDir)),
    ...describeLoaders(await missingLoaders(inventory, bootDir), bootDir),
  ];
}

export async function missingImages(
  { profiles }: Pick<Inventory, 'profiles'>,
  assetsDir: string,
): Promise<Missing[]> {
  const missing: Missing[] = [];
  for (const [path, profile] of new Map(profiles.map((profile) => [imagePath(profile), profile]))) {
    const folder = join(assetsDir, 'flatcar', path);
    const lacking = await absent(folder, PXE_FILES);
    if (lacking.length === 0) continue;
    const { os, channel, version, arch } = profile;
    const files = `{${lacking.flatMap((file) => [file, `${file}.sig`]).join(',')}}`;
    const url = `https://${channel}.release.flatcar-linux.net/${flatcarBoard(arch)}/${version}/${files}`;
    // Without a network: the same on a machine that has one, and `assets import` of that folder.
    missing.push({
      what: `the OS image ${os} ${channel} ${version} ${arch}`,
      get: `npx railhead assets sync  # or: curl -fL --create-dirs --output-dir ${folder} --remote-name-all "${url}"`,
    });
  }
  return missing;
}

/** Where an OS image is, below `assets/flatcar` and in the URLs it is served at. */
function imagePath({ channel, arch, version }: ProfileSpec): string {
  return join(channel, flatcarBoard(arch), version);
}

/** The boot loaders that the inventory's machines need and don't find. */
export async function missingLoaders(
  inventory: Pick<Inventory, 'profiles'>,
  bootDir: string,
): Promise<NeededLoader[]> {
  const needed = loadersFor(inventory);
  const lacking = await absent(
    bootDir,
    needed.map(({ file }) => file),
  );
  return needed.filter(({ file }) => lacking.includes(file));
}

/** Nothing was ever put there: not a fault of an inventory, but of an appliance that is not set up yet. */
export async function isUnfilled(bootDir: string): Promise<boolean> {
  const names = await readdir(bootDir).catch(() => []);
  return names.every((name) => name === 'README.md' || name.startsWith('.'));
}

/** The same for a list of things to get. Pure. */
export function describeLoaders(missing: readonly NeededLoader[], bootDir: string): Missing[] {
  if (missing.length === 0) return [];
  const files = missing.map(({ file }) => file);
  const what = files.length === 1 ? `the boot loader ${files[0]}` : `the boot loaders ${files.join(', ')}`;
  return [{ what: `${what} in ${bootDir}`, get: getLoaders(bootDir) }];
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
