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

export interface ImagesOptions {
  contents: Pick<Contents, 'names'>;
  assetsDir: string;
  now: () => number;
}

/** A thousand hosts that ask at once are answered by one look. What others change is seen after this, at the latest. */
const FRESH_MS = 1000;

/** The images that there are: what the content store has under `sysext/`. */
export class SysextImages {
  readonly #options: ImagesOptions;
  readonly #looked = new Map<string, { at: number; found: Promise<SysextImage[]> }>();

  constructor(options: ImagesOptions) {
    this.#options = options;
  }

  /** Something was changed: the next look is a new one. */
  forget(): void {
    this.#looked.clear();
  }

  /** Those of one extension, or all, by name and then oldest version first. Never one whose file is gone or cut. */
  async list(name?: string): Promise<SysextImage[]> {
    return this.#inFolder(SYSEXT_FOLDER, name);
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
    const prefix = name === undefined ? `${folder}/` : `${folder}/${name}/`;
    const now = this.#options.now();
    const last = this.#looked.get(prefix);
    if (last !== undefined && now >= last.at && now - last.at < FRESH_MS) return [...(await last.found)];
    const found = this.#look(prefix);
    // Names come from requests: only what leads to something is worth a place.
    found.then(
      (images) => images.length === 0 && this.#looked.delete(prefix),
      () => this.#looked.delete(prefix),
    );
    this.#looked.set(prefix, { at: now, found });
    return [...(await found)];
  }

  async #look(prefix: string): Promise<SysextImage[]> {
    const { contents, assetsDir } = this.#options;
    const named = await contents.names(prefix);
    const images = named.map(toImage).filter((image) => image !== undefined);
    const isThere = await Promise.all(
      images.map(async ({ path, size }) => {
        const found = await stat(join(assetsDir, path)).catch(() => undefined);
        return found?.isFile() === true && found.size === size;
      }),
    );
    return images.filter((_image, index) => isThere[index]).sort(byNameAndAge);
  }
}

/** The same image's place after it was taken out of the feed. */
export function retiredNameOf(id: ImageId): string {
  return contentNameOf(id).replace(SYSEXT_FOLDER, RETIRED_FOLDER);
}

function byNameAndAge(a: SysextImage, b: SysextImage): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return compareVersions(a.version, b.version) || (a.file < b.file ? -1 : 1);
}

function toImage({ name: path, sha256, size, origin, addedAt }: NamedContent): SysextImage | undefined {
  const [, name = '', file = '', ...rest] = path.split('/');
  const id = rest.length === 0 ? parseFileOf(name, file) : undefined;
  return id === undefined ? undefined : { ...id, file, sha256, size, origin, addedAt, path };
}
