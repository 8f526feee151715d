import { randomBytes } from 'node:crypto';
import { chmod, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { RailheadError } from '../errors.ts';
import {
  type ContentNameRow,
  findContent,
  findName,
  forgetContent,
  forgetName,
  isNamed,
  listContents,
  listNames,
  recordContent,
  recordName,
} from '../store/contents.ts';
import type { Store } from '../store/store.ts';
import { hashFile } from './hash-file.ts';
import { filesByHash, removeEmptyFolders, sweepAbandoned } from './housekeeping.ts';
import { copyToDisk, linkAtomically, syncFile } from './link.ts';
import { assertName, COPIES_FOLDER, contentPath, isSha256 } from './names.ts';
import type { Space } from './space.ts';

export interface ContentStoreOptions {
  store: Store;
  /** Everything is below it: names at their public paths, contents in `.content/`. */
  assetsDir: string;
  now: () => number;
  space: Space;
}

export interface PutRequest {
  /** The file. It is copied and stays where it is. */
  from: string;
  /** Where it is found below the assets folder, such as `sysext/kubernetes/kubernetes-v1.36.4-x86-64.raw`. */
  name: string;
  /** Where it came from, for people. */
  origin: string;
  /** What it must be; anything else is refused. */
  sha256?: string;
  /** Who vouches for it, in words; default: its SHA-256 was given, or nobody. */
  verifiedHow?: string;
}

/** Takes a file that is in the assets folder's `.content/` already, and whose hash was just computed. */
export interface AdoptRequest extends Omit<PutRequest, 'verifiedHow'> {
  sha256: string;
  size: number;
  verifiedHow: string;
}

export interface NamedContent {
  name: string;
  sha256: string;
  size: number;
  origin: string;
  /** Milliseconds since 1970. */
  addedAt: number;
  verifiedHow: string;
}

export interface ContentUsage {
  /** Bytes of all contents, each counted once however many names it has. */
  bytes: number;
  contents: number;
  names: number;
  /** Bytes that can still be written. */
  free: number;
}

/**
 * Files by hash, with names that point at them. A name is a plain file below the assets folder, so that serving needs
 * no look-up; it appears in one step, after its bytes were verified and are on disk. What is recorded says what a file
 * must be: one that is shorter, or gone, is not that content any more.
 */
export class ContentStore {
  readonly #options: ContentStoreOptions;
  /** Changes go one after another, so that no content is removed while it gets a new name. */
  #tail: Promise<unknown> = Promise.resolve();

  constructor(options: ContentStoreOptions) {
    this.#options = options;
  }

  get space(): Space {
    return this.#options.space;
  }

  /** Gives names back that were lost, and sweeps what a crash left. */
  async start(): Promise<void> {
    await sweepAbandoned(this.#options.assetsDir, this.#options.now());
    for (const { name, sha256, size } of await listNames(this.#options.store.db)) {
      if (!(await this.#isThere(contentPath(sha256), size)) || (await this.#isLinked(name, sha256, size)))
        continue;
      // A folder that can't be written to is no reason not to serve what is in it.
      await linkAtomically(this.#path(contentPath(sha256)), this.#path(name)).catch(() => {});
    }
  }

  /** Resolves when no change is under way. */
  async stop(): Promise<void> {
    await this.#tail.catch(() => {});
  }

  /** Copies a file into the store and gives it its name, in place of what had that name. */
  async put({ from, name, origin, sha256, verifiedHow }: PutRequest): Promise<NamedContent> {
    assertName(name);
    const { size } = await stat(from);
    await this.space.assertRoomFor(size, name);
    const copy = join(await this.#copies(), `${randomBytes(8).toString('hex')}.partial`);
    try {
      await copyToDisk(from, copy);
      const hashes = await hashFile(copy);
      if (sha256 !== undefined && hashes.sha256 !== sha256.toLowerCase()) {
        throw new RailheadError(
          'RH_CONTENT_WRONG',
          `${from} is not what it should be: its SHA-256 is ${hashes.sha256}, expected ${sha256}.`,
        );
      }
      return await this.adopt({
        from: copy,
        name,
        origin,
        sha256: hashes.sha256,
        size: hashes.size,
        verifiedHow: verifiedHow ?? (sha256 === undefined ? 'nobody' : 'SHA-256'),
      });
    } finally {
      await rm(copy, { force: true });
    }
  }

  /**
   * The same without copying and without hashing once more. `from` stays until this returns, and is the caller's to
   * remove: after a crash in between it is still there, and nothing has to be fetched again.
   */
  adopt(request: AdoptRequest): Promise<NamedContent> {
    assertName(request.name);
    if (!isSha256(request.sha256)) throw new TypeError(`${request.sha256} is no SHA-256`);
    return this.#inTurn(() => this.#adopt(request));
  }

  /** The same for a few bytes that are in memory. */
  async putBytes(bytes: Uint8Array, request: Omit<PutRequest, 'from' | 'sha256'>): Promise<NamedContent> {
    assertName(request.name);
    const copy = join(await this.#copies(), `${randomBytes(8).toString('hex')}.partial`);
    try {
      await writeFile(copy, bytes);
      const { sha256, size } = await hashFile(copy);
      return await this.adopt({ verifiedHow: 'nobody', ...request, from: copy, sha256, size });
    } finally {
      await rm(copy, { force: true });
    }
  }

  /** One more name for what has a name already. */
  alias(name: string, target: string): Promise<NamedContent> {
    assertName(name);
    return this.#inTurn(async () => {
      const found = await this.#find(target);
      if (found === undefined) throw notFound(target);
      await linkAtomically(this.#path(contentPath(found.sha256)), this.#path(name));
      return this.#record({ ...found, name, addedAt: this.#options.now() });
    });
  }

  /** Where the file of this name is. `undefined` when it is not recorded, gone, or not as long as recorded. */
  async resolve(name: string): Promise<(NamedContent & { path: string }) | undefined> {
    const found = await this.#find(name);
    if (found === undefined || !(await this.#isThere(name, found.size))) return undefined;
    return { ...found, path: this.#path(name) };
  }

  /** How long the file of this name must be, if it is one of the store's. */
  async recordedSize(name: string): Promise<number | undefined> {
    return (await findName(this.#options.store.db, name))?.size;
  }

  /** Every name that begins with the prefix, in order. */
  async names(prefix = ''): Promise<NamedContent[]> {
    return (await listNames(this.#options.store.db, prefix)).map(fromRow);
  }

  /** Takes a name away; its content goes with the last name. False when there is no such name. */
  remove(name: string): Promise<boolean> {
    assertName(name);
    return this.#inTurn(async () => {
      const row = await findName(this.#options.store.db, name);
      if (row === undefined) return false;
      await rm(this.#path(name), { force: true });
      await removeEmptyFolders(this.#options.assetsDir, dirname(name));
      const isLast = await this.#options.store.db.transaction().execute(async (db) => {
        await forgetName(db, name);
        if (await isNamed(db, row.sha256)) return false;
        await forgetContent(db, row.sha256);
        return true;
      });
      if (isLast) await rm(this.#path(contentPath(row.sha256)), { force: true });
      return true;
    });
  }

  async usage(): Promise<ContentUsage> {
    const { db } = this.#options.store;
    const [contents, names, free] = await Promise.all([listContents(db), listNames(db), this.space.free()]);
    return {
      bytes: contents.reduce((sum, { size }) => sum + size, 0),
      contents: contents.length,
      names: names.length,
      free,
    };
  }

  /** Files in `.content/` that no name has: of a restored database, or of a crash. */
  async orphans(): Promise<{ path: string; size: number }[]> {
    const known = new Set((await listContents(this.#options.store.db)).map(({ sha256 }) => sha256));
    return filesByHash(this.#options.assetsDir, (sha256) => !known.has(sha256));
  }

  async #adopt({ from, name, origin, sha256, size, verifiedHow }: AdoptRequest): Promise<NamedContent> {
    await syncFile(from);
    // An edit in place would change every name at once, unseen.
    await chmod(from, 0o444).catch(() => {});
    const content = this.#path(contentPath(sha256));
    const known = await findContent(this.#options.store.db, sha256);
    if (known === undefined || !(await this.#isThere(contentPath(sha256), size)))
      await linkAtomically(from, content);
    const result = await this.#record({
      name,
      sha256,
      size,
      origin,
      verifiedHow,
      addedAt: this.#options.now(),
    });
    await linkAtomically(content, this.#path(name));
    return result;
  }

  async #record(named: NamedContent): Promise<NamedContent> {
    const { name, sha256, size, origin, addedAt, verifiedHow } = named;
    const replaced = await this.#options.store.db.transaction().execute(async (db) => {
      const before = await findName(db, name);
      await recordContent(db, { sha256, size, added_at: addedAt, verified_how: verifiedHow });
      await recordName(db, { name, sha256, size, origin, added_at: addedAt });
      if (before === undefined || before.sha256 === sha256 || (await isNamed(db, before.sha256)))
        return undefined;
      await forgetContent(db, before.sha256);
      return before.sha256;
    });
    if (replaced !== undefined) await rm(this.#path(contentPath(replaced)), { force: true });
    return named;
  }

  async #find(name: string): Promise<NamedContent | undefined> {
    const { db } = this.#options.store;
    const row = await findName(db, name);
    if (row === undefined) return undefined;
    const content = await findContent(db, row.sha256);
    return content === undefined ? undefined : fromRow({ ...row, verified_how: content.verified_how });
  }

  async #isThere(path: string, size: number): Promise<boolean> {
    const found = await stat(this.#path(path)).catch(() => undefined);
    return found?.isFile() === true && found.size === size;
  }

  /** Whether a name leads to its content. Where there are no hard links, only the size can say so in time. */
  async #isLinked(name: string, sha256: string, size: number): Promise<boolean> {
    const [named, content] = await Promise.all([
      stat(this.#path(name)).catch(() => undefined),
      stat(this.#path(contentPath(sha256))),
    ]);
    if (named?.size !== size) return false;
    return named.ino === content.ino || content.nlink === 1;
  }

  async #copies(): Promise<string> {
    const dir = this.#path(COPIES_FOLDER);
    await mkdir(dir, { recursive: true });
    return dir;
  }

  #path(name: string): string {
    return join(this.#options.assetsDir, name);
  }

  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(change);
    this.#tail = result.catch(() => {});
    return result;
  }
}

function fromRow(row: ContentNameRow & { verified_how: string }): NamedContent {
  const { name, sha256, size, origin, added_at: addedAt, verified_how: verifiedHow } = row;
  return { name, sha256, size, origin, addedAt, verifiedHow };
}

function notFound(name: string): RailheadError {
  return new RailheadError('RH_NOT_FOUND', `There is no file ${name}.`);
}
