import { mkdir, statfs } from 'node:fs/promises';
import { RailheadError } from '../errors.ts';

const MEGABYTE = 1024 * 1024;

export interface SpaceOptions {
  dir: string;
  /** What must stay free for everything else on that disk. */
  minFreeBytes: number;
  /** Bytes that can still be written below the folder; for tests. */
  freeBytes?: (dir: string) => Promise<number>;
}

/** Watches over the disk of the assets: an appliance with a full disk serves nobody. */
export class Space {
  readonly #options: Required<SpaceOptions>;

  constructor(options: SpaceOptions) {
    this.#options = { freeBytes, ...options };
  }

  async free(): Promise<number> {
    await mkdir(this.#options.dir, { recursive: true });
    return this.#options.freeBytes(this.#options.dir);
  }

  /** Throws when this many more bytes would leave too little. */
  async assertRoomFor(bytes: number, what: string): Promise<void> {
    const { dir, minFreeBytes } = this.#options;
    const free = await this.free();
    if (free - bytes >= minFreeBytes) return;
    const megabytes = (count: number) => `${Math.ceil(count / MEGABYTE)} MB`;
    throw new RailheadError(
      'RH_DISK_FULL',
      `There is no room for ${what}: it needs ${megabytes(bytes)}, ${dir} has ${megabytes(free)}, and ${megabytes(minFreeBytes)} must stay free.`,
      {
        hint: '`npx railhead assets prune` removes images that nothing needs; assetsMinFreeMegabytes sets what stays free.',
      },
    );
  }
}

async function freeBytes(dir: string): Promise<number> {
  const { bavail, bsize } = await statfs(dir);
  return bavail * bsize;
}
