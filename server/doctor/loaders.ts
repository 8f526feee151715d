import { fileURLToPath } from 'node:url';
import type { Problem } from '../document/problem.ts';
import type { Arch } from '../inventory/arch.ts';
import type { Inventory } from '../inventory/model.ts';
import { BOOT_FILES } from '../netboot/dhcp.ts';

/** A file that machines ask for before anything else, so it has to be in the boot folder. */
export interface NeededLoader {
  file: string;
  why: string;
  arch: Arch;
  /** Whose machines ask for it. */
  profiles: string[];
}

/** What the DHCP server is told to hand out, and what that loads next. `npm run bootloaders` gets them all. */
const LOADERS: Record<Arch, ReadonlyArray<{ file: string; why: string }>> = {
  amd64: [
    { file: BOOT_FILES.bios, why: 'BIOS machines start with it' },
    { file: BOOT_FILES.uefi, why: 'UEFI machines start with it' },
  ],
  arm64: [{ file: BOOT_FILES.uefiArm64, why: 'UEFI machines start with it' }],
};

/** The boot loaders that an inventory's machines need. Pure. */
export function loadersFor({ profiles }: Pick<Inventory, 'profiles'>): NeededLoader[] {
  return Object.entries(LOADERS).flatMap(([arch, loaders]) => {
    const names = profiles.filter((profile) => profile.arch === arch).map(({ name }) => name);
    if (names.length === 0) return [];
    return loaders.map((loader) => ({ ...loader, arch: arch as Arch, profiles: names }));
  });
}

/** An error for each profile whose machines can't start. `missing` are those of `loadersFor` that aren't there. */
export function loaderProblems(
  missing: readonly NeededLoader[],
  { inventoryShownAs, bootDir }: { inventoryShownAs: string; bootDir: string },
): Problem[] {
  const profiles = [...new Set(missing.flatMap((loader) => loader.profiles))];
  return profiles.map((profile) => {
    const mine = missing.filter((loader) => loader.profiles.includes(profile));
    const files = mine.map(({ file, why }) => `${file} (${why})`).join(', ');
    return {
      file: inventoryShownAs,
      line: 0,
      col: 0,
      severity: 'error',
      subject: `profile "${profile}"`,
      message: `${mine[0]?.arch} machines can't start: ${files} is not in ${bootDir}; get it with \`${getLoaders(bootDir)}\``,
    };
  });
}

const USUAL_BOOT_DIR = fileURLToPath(new URL('../../boot', import.meta.url));

/** The command that fills the folder. */
export function getLoaders(bootDir: string): string {
  if (bootDir === USUAL_BOOT_DIR) return 'npm run bootloaders';
  const quoted = /^[\w./-]+$/.test(bootDir) ? bootDir : `'${bootDir.replaceAll("'", "'\\''")}'`;
  return `npm run bootloaders -- --boot ${quoted}`;
}
