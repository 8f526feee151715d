import { formatProblem, isError, type Problem } from '../document/problem.ts';
import { RailheadError } from '../errors.ts';
import { type Install, type SimulatedHost, simulatedHosts } from './hosts.ts';
import { type ImageSizes, SIMULATED_IMAGE, StandInImage } from './image.ts';
import { SimulatedInventoryFile } from './inventory-file.ts';
import { simulatedInventory } from './inventory-text.ts';

export interface SetUpOptions {
  inventoryFolder: { dir: string; shownAs: string };
  assetsDir: string;
  /** Puts the inventory in force as it is on disk. */
  reload: () => Promise<void>;
  /** Why the files on disk are not what is in force, if they are not. */
  rejection: () => { problems: Problem[] } | undefined;
}

export interface SimulationOrder extends ImageSizes {
  hosts: number;
  install: Install;
}

export interface SetUp {
  file: string;
  image: string;
  install: Install;
  hosts: SimulatedHost[];
}

/** How many problems are told; `railhead check` shows all. */
const PROBLEMS_TOLD = 5;

/** Makes the hosts of a simulation part of the inventory, with an image to boot, and takes them away again. */
export class SimulationSetUp {
  readonly #options: SetUpOptions;
  readonly #file: SimulatedInventoryFile;
  readonly #image: StandInImage;

  constructor(options: SetUpOptions) {
    this.#options = options;
    this.#file = new SimulatedInventoryFile(options.inventoryFolder);
    this.#image = new StandInImage(options.assetsDir);
  }

  /** All or nothing: an inventory that is refused with them is put back as it was. */
  async put({ hosts: count, install, ...sizes }: SimulationOrder): Promise<SetUp> {
    const before = await this.#file.read();
    // Before the hosts: else one that is quick would be told to wait for its image.
    await this.#image.put(sizes);
    const hosts = simulatedHosts(count);
    await this.#file.write(simulatedInventory(hosts, install));
    const fault = await this.#reload();
    if (fault !== undefined) {
      await this.#file.write(before);
      await this.#reload();
      if (before === undefined) await this.#image.remove();
      throw new RailheadError('RH_INVENTORY_INVALID', fault, { hint: 'Nothing was changed.' });
    }
    return { file: this.#file.shownAs, image: SIMULATED_IMAGE, install, hosts };
  }

  /** What was taken away. */
  async remove(): Promise<{ file: string | null; image: string | null }> {
    const wasThere = (await this.#file.read()) !== undefined;
    if (wasThere) {
      await this.#file.write(undefined);
      await this.#reload();
    }
    const hadImage = await this.#image.remove();
    return { file: wasThere ? this.#file.shownAs : null, image: hadImage ? SIMULATED_IMAGE : null };
  }

  /** Why the inventory is not in force now, or `undefined`. */
  async #reload(): Promise<string | undefined> {
    await this.#options.reload();
    const errors = this.#options.rejection()?.problems.filter(isError) ?? [];
    if (errors.length === 0) return undefined;
    const told = errors.slice(0, PROBLEMS_TOLD).map(formatProblem);
    const more = errors.length - told.length;
    return [...told, ...(more > 0 ? [`… and ${more} more`] : [])].join('\n');
  }
}
