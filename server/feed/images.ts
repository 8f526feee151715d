import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ContentStore, NamedContent } from '../content/store.ts';
import { contentNameOf, fileOf, type ImageId, parseFileOf, SYSEXT_FOLDER } from './image-name.ts';
import { compareVersions } from './version-order.ts';

export interface SysextImage extends ImageId {
  file: string;
  /** In hex. */
  sha256: string;
  size: number;
  origin: string;
  /** Milliseconds since 1970. */
  addedAt: number;
  /** Its way from the assets folder. */
  path: string;
}

/** What is used of the content store. */
export type Contents = Pick<ContentStore, 'names' | 'adopt' | 'alias' | 'remove' | 'space'>;

/** Where images are that were taken out of the feed, for those who have read of them and come to fetch them. */
export const RETIRED_FOLDER = 'sysext-retired';

/** The images that there are: what the content store has under `sysext/`. */
export class SysextImages {
  readonly #contents: Pick<Contents, 'names'>;
  readonly #assetsDir: string;

  constructor(contents: Pick<Contents, 'names'>, assetsDir: string) {
    this.#contents = contents;
    this.#assetsDir = assetsDir;
  }

  /** Those of one extension, or all, by name and then oldest version first. Never one whose file is gone or cut. */
  async list(name?: string): Promise<SysextImage[]> {
    const found = await this.#inFolder(SYSEXT_FOLDER, name);
    return found.sort(
      (a, b) =>
        (a.name < b.name ? -1 : a.name > b.name ? 1 : 0) ||
        compareVersions(a.version, b.version) ||
        (a.file < b.file ? -1 : 1),
    );
  }

  /** One image, in the feed. */
  async find(id: ImageId): Promise<SysextImage | undefined> {
    return (await this.list(id.name)).find(({ file }) => file === fileOf(id));
  }

  /** Those that were taken out of the feed a short while ago; `addedAt` is when. */
  async retired(name?: string): Promise<SysextImage[]> {
    return this.#inFolder(RETIRED_FOLDER, name);
  }

  async #inFolder(folder: string, name: string | undefined): Promise<SysextImage[]> {
    const named = await this.#contents.names(name === undefined ? `${folder}/` : `${folder}/${name}/`);
    const images = named.map(toImage).filter((image) => image !== undefined);
    const isThere = await Promise.all(
      images.map(async ({ path, size }) => {
        const found = await stat(join(this.#assetsDir, path)).catch(() => undefined);
        return found?.isFile() === true && found.size === size;
      }),
    );
    return images.filter((_image, index) => isThere[index]);
  }
}

/** The same image's place after it was taken out of the feed. */
export function retiredNameOf(id: ImageId): string {
  return contentNameOf(id).replace(SYSEXT_FOLDER, RETIRED_FOLDER);
}

function toImage({ name: path, sha256, size, origin, addedAt }: NamedContent): SysextImage | undefined {
  const [, name = '', file = '', ...rest] = path.split('/');
  const id = rest.length === 0 ? parseFileOf(name, file) : undefined;
  return id === undefined ? undefined : { ...id, file, sha256, size, origin, addedAt, path };
}
