import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { copyToDisk } from '../content/link.ts';
import { COPIES_FOLDER } from '../content/names.ts';
import type { Space } from '../content/space.ts';
import { RailheadError } from '../errors.ts';
import { versionInText } from './digests.ts';
import type { OnProgress } from './download.ts';
import { FetchFault } from './fault.ts';
import { type PlannedFile, VERSION_FILE } from './plan.ts';
import type { Candidate, Source } from './source.ts';

/** How deep a folder is looked through: a mirror's own depth and a little more, not a whole disk. */
const MAX_FILES = 20_000;

export interface FolderListing {
  root: string;
  /** Paths from the root, with `/`. */
  files: string[];
  /** The version that the `version.txt` of a folder names, by folder. */
  versions: Map<string, string>;
}

/** What is in a folder or a USB stick; a single file counts as its folder with nothing else to import. */
export async function listFolder(path: string): Promise<FolderListing & { only?: string }> {
  const found = await stat(path).catch((error: unknown) => {
    throw new RailheadError('RH_NOT_FOUND', `${path} can't be read.`, { cause: error });
  });
  const root = found.isDirectory() ? path : dirname(path);
  const entries = await readdir(root, { recursive: found.isDirectory(), withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .slice(0, MAX_FILES)
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
  const versions = new Map<string, string>();
  for (const file of files.filter((each) => basename(each) === VERSION_FILE)) {
    const version = versionInText(await readFile(join(root, file), 'utf8').catch(() => ''));
    if (version !== undefined) versions.set(dirname(file), version);
  }
  return { root, files, versions, ...(found.isDirectory() ? {} : { only: basename(path) }) };
}

/**
 * Which file of a folder is meant to be a planned one. The more of its path agrees the better: a copy of a mirror is
 * `stable/amd64-usr/4593.2.5/…`. A file that lies anywhere else counts if its folder says which version it is, or if
 * no other version is wanted. A wrong guess does no harm: what is imported is checked like everything else. Pure.
 */
export function findIn(
  { files, versions }: Pick<FolderListing, 'files' | 'versions'>,
  name: string,
  isOnlyVersion: boolean,
): string | undefined {
  const file = basename(name);
  const parts = dirname(name).split('/');
  const version = parts.at(-1) ?? '';
  const candidates = files.filter((each) => basename(each) === file);
  // Sysexts have everything in their file names.
  if (!name.startsWith('flatcar/')) return candidates[0];
  for (let from = 0; from < parts.length; from++) {
    const suffix = `/${parts.slice(from).join('/')}/${file}`;
    const match = candidates.find((each) => `/${each}`.endsWith(suffix));
    if (match !== undefined) return match;
  }
  return candidates.find((each) => {
    const said = versions.get(dirname(each));
    return said === undefined ? isOnlyVersion && !/\d+\.\d+\.\d+/.test(dirname(each)) : said === version;
  });
}

export interface FolderSourceOptions {
  root: string;
  /** By the name of a planned file, its path from the root. */
  found: ReadonlyMap<string, string>;
  assetsDir: string;
  space: Space;
}

/** Files that lie in a folder, with their signatures and lists beside them. */
export class FolderSource implements Source {
  readonly #options: FolderSourceOptions;

  constructor(options: FolderSourceOptions) {
    this.#options = options;
  }

  originOf(file: PlannedFile): string {
    return `import:${this.#pathOf(file)}`;
  }

  async beside(file: PlannedFile, extension: string): Promise<Buffer | undefined> {
    return readFile(`${this.#pathOf(file)}${extension}`).catch(() => undefined);
  }

  async sumsOf(file: PlannedFile): Promise<Buffer | undefined> {
    const path = this.#pathOf(file);
    return (
      (await readFile(`${path}.sha256`).catch(() => undefined)) ??
      (await readFile(join(dirname(path), 'SHA256SUMS')).catch(() => undefined))
    );
  }

  async get(file: PlannedFile, onProgress: OnProgress): Promise<Candidate> {
    const path = this.#pathOf(file);
    const { size } = await stat(path).catch((error: unknown) => {
      throw new FetchFault(`${path} can't be read.`, { cause: error });
    });
    const { assetsDir, space } = this.#options;
    await space.assertRoomFor(size, path);
    // What is checked is what is kept: a stick may be pulled, or lie.
    const copy = join(assetsDir, COPIES_FOLDER, `${randomBytes(8).toString('hex')}.partial`);
    await mkdir(dirname(copy), { recursive: true });
    await copyToDisk(path, copy);
    onProgress(size, size, 0);
    return { path: copy, isPatched: false, isOurs: false, discard: () => rm(copy, { force: true }) };
  }

  #pathOf({ name }: PlannedFile): string {
    return join(this.#options.root, this.#options.found.get(name) ?? name);
  }
}
