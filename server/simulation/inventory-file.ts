import { randomUUID } from 'node:crypto';
import { lstat, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RailheadError, systemCode } from '../errors.ts';
import { isSimulatedInventory } from './inventory-text.ts';

/** A file of its own: nothing that a person wrote is touched. */
export const SIMULATED_FILE = 'simulated.yaml';

/** The simulation's file in an inventory folder. A file of that name that it did not write is left alone. */
export class SimulatedInventoryFile {
  readonly #path: string;
  /** How it is called in messages. */
  readonly shownAs: string;

  constructor(folder: { dir: string; shownAs: string }) {
    this.#path = join(folder.dir, SIMULATED_FILE);
    this.shownAs = join(folder.shownAs, SIMULATED_FILE);
  }

  /** What is in it; `undefined` when it is not there. Fails when it is somebody else's. */
  async read(): Promise<string | undefined> {
    const found = await lstat(this.#path).catch((error: unknown) => {
      if (systemCode(error) === 'ENOENT') return undefined;
      throw this.#unusable('read', error);
    });
    if (found === undefined) return undefined;
    const text = found.isFile() ? await readFile(this.#path, 'utf8') : '';
    if (isSimulatedInventory(text)) return text;
    throw new RailheadError('RH_SIMULATION_REFUSED', `${this.shownAs} was not written by a simulation.`, {
      hint: 'Nothing was changed. Give that file another name, if you want to simulate machines here.',
    });
  }

  /** As a whole or not at all; `undefined` takes it away. */
  async write(text: string | undefined): Promise<void> {
    // The inventory takes no notice of a name that doesn't end in `.yaml`.
    const fresh = `${this.#path}.${randomUUID()}.new`;
    try {
      if (text === undefined) return await rm(this.#path, { force: true });
      await writeFile(fresh, text);
      await rename(fresh, this.#path);
    } catch (error) {
      await rm(fresh, { force: true }).catch(() => {});
      throw this.#unusable('write', error);
    }
  }

  #unusable(what: string, error: unknown): RailheadError {
    return new RailheadError(
      'RH_SIMULATION_REFUSED',
      `Can't ${what} ${this.shownAs}: ${systemCode(error) ?? (error as Error).message}.`,
      { hint: 'The server needs the right to write to its inventory folder for this.', cause: error },
    );
  }
}
