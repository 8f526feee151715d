import { randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { RailheadError, systemCode } from '../errors.ts';
import { flatcarBoard } from '../inventory/arch.ts';
import { INITRD, KERNEL } from '../netboot/images.ts';
import { SIMULATED_VERSION } from './inventory-text.ts';

/** Says whose folder it is: one without it is never touched. */
const MARK_FILE = 'SIMULATED';
const MARK_TEXT =
  'A stand-in image for `railhead simulate`; `npx railhead simulate --remove` takes it away.\n';

export interface ImageSizes {
  kernelBytes: number;
  initrdBytes: number;
}

/** Where the stand-in image is, below `assets/`. */
export const SIMULATED_IMAGE = join('flatcar', 'stable', flatcarBoard('amd64'), SIMULATED_VERSION);

/** An image with nothing in it but its size, for simulated hosts. */
export class StandInImage {
  readonly #assetsDir: string;
  readonly #dir: string;

  constructor(assetsDir: string) {
    this.#assetsDir = assetsDir;
    this.#dir = join(assetsDir, SIMULATED_IMAGE);
  }

  /** Makes it, or gives it these sizes. Files that are right already stay as they are. */
  async put({ kernelBytes, initrdBytes }: ImageSizes): Promise<void> {
    try {
      await this.#assertOurs();
      await mkdir(this.#dir, { recursive: true });
      await writeFile(join(this.#dir, MARK_FILE), MARK_TEXT);
      await this.#putFile(KERNEL, kernelBytes);
      await this.#putFile(INITRD, initrdBytes);
    } catch (error) {
      if (error instanceof RailheadError || systemCode(error) === 'ENOSPC') throw error;
      throw new RailheadError(
        'RH_SIMULATION_REFUSED',
        `Can't write the stand-in image ${this.#dir}: ${systemCode(error) ?? (error as Error).message}.`,
        { hint: 'The server needs the right to write to its assets folder for this.', cause: error },
      );
    }
  }

  /** Takes it away, and the folders that were only there for it. Returns whether it was there. */
  async remove(): Promise<boolean> {
    if (!(await exists(join(this.#dir, MARK_FILE)))) return false;
    await rm(this.#dir, { recursive: true, force: true });
    let folder = dirname(this.#dir);
    while (folder !== this.#assetsDir && (await removeIfEmpty(folder))) folder = dirname(folder);
    return true;
  }

  async #assertOurs(): Promise<void> {
    if (!(await exists(this.#dir)) || (await exists(join(this.#dir, MARK_FILE)))) return;
    throw new RailheadError('RH_SIMULATION_REFUSED', `${this.#dir} was not made by a simulation.`, {
      hint: 'Nothing was changed. Move that folder away, if you want to simulate machines here.',
    });
  }

  async #putFile(name: string, bytes: number): Promise<void> {
    const path = join(this.#dir, name);
    if ((await stat(path).catch(() => undefined))?.size === bytes) return;
    // A new file in place of the old one: who is being sent the old one gets the rest of it.
    const fresh = `${path}.${randomUUID()}.new`;
    const file = await open(fresh, 'w');
    try {
      // A hole: it is read as zeros and takes no room on disk.
      await file.truncate(bytes);
    } finally {
      await file.close();
    }
    await rename(fresh, path);
  }
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

async function removeIfEmpty(dir: string): Promise<boolean> {
  return rmdir(dir).then(
    () => true,
    () => false,
  );
}
