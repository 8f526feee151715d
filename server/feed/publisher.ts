import { randomBytes } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { hashFile } from '../content/hash-file.ts';
import { CONTENT_FOLDER } from '../content/names.ts';
import { RailheadError } from '../errors.ts';
import type { EventLog } from '../events/log.ts';
import type { ClusterSpec } from '../inventory/model.ts';
import { clustersAt } from './allowed-versions.ts';
import { contentNameOf, fileOf, type ImageId } from './image-name.ts';
import { type Contents, retiredNameOf, type SysextImage, type SysextImages } from './images.ts';
import { type ImagePart, invalidImage, receivedBytes, receivePart } from './receive.ts';

export interface PublisherOptions {
  contents: Contents;
  images: SysextImages;
  events: Pick<EventLog, 'append'>;
  /** Of the inventory in force. */
  clusters: () => readonly ClusterSpec[];
  assetsDir: string;
  now: () => number;
}

export interface Upload extends ImagePart {
  id: ImageId;
  /** How many bytes the image has, all pieces together. */
  size: number;
  /** What it must be. Needed for several pieces: it is what ties them together. */
  sha256?: string | undefined;
  origin: string;
  /** Replace an image of that version that has other bytes. */
  force: boolean;
}

export interface Published {
  image: SysextImage;
  /** False when these bytes were there already. */
  isNew: boolean;
}

/** The largest that is taken: a hundred times what extensions have. */
const MAX_IMAGE_BYTES = 8 * 1024 ** 3;

/** How long an image can still be fetched after it was taken out: longer than any client takes after it read of it. */
const GRACE_MS = 3_600_000;

/** Puts images into the feed and takes them out. Both happen in one step for those who look. */
export class SysextPublisher {
  readonly #options: PublisherOptions;
  /** One after another: whether a version is there is asked and answered before the next one asks. */
  #tail: Promise<unknown> = Promise.resolve();
  /** Files that a piece is being written to. */
  readonly #receiving = new Set<string>();

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /**
   * Takes an image that comes over the network, or the next piece of it: says how much is there until it is all there.
   * A piece that doesn't go on where the last one ended is left unread, and the answer says where to go on.
   */
  async receive(upload: Upload): Promise<Published | { received: number }> {
    const { id, size, sha256, force, offset } = upload;
    const file = fileOf(id);
    if (size > MAX_IMAGE_BYTES) throw invalidImage(file, `it is larger than ${MAX_IMAGE_BYTES} bytes`);
    const there = await this.#options.images.find(id);
    if (there !== undefined && there.sha256 === sha256) return { image: there, isNew: false };
    if (there !== undefined && sha256 !== undefined) assertReplaceable(there, force);

    const path = await this.#stagedAt(sha256);
    if (this.#receiving.has(path)) {
      throw new RailheadError('RH_REQUEST_INVALID', `${file} is being sent by somebody else right now.`);
    }
    this.#receiving.add(path);
    try {
      const before = await receivedBytes(path);
      if (before !== offset) return { received: before };
      await this.#options.contents.space.assertRoomFor(size - before, file);
      const received = await receivePart(path, upload, { what: file, size });
      if (received < size) return { received };
      return await this.#complete(upload, path);
    } catch (error) {
      // What came before a cut is good to go on with; what is wrong, or nobody can go on with, is not.
      const isCut = error instanceof RailheadError && error.code === 'RH_REQUEST_INVALID';
      if (!isCut || sha256 === undefined) await rm(path, { force: true });
      throw error;
    } finally {
      this.#receiving.delete(path);
    }
  }

  /** Takes a version out of the feed, for one architecture or all; returns the files. */
  remove(
    { name, version, arch }: Omit<ImageId, 'arch'> & { arch?: string | undefined },
    { force }: { force: boolean },
  ): Promise<SysextImage[]> {
    return this.#inTurn(async () => {
      const { images, contents, clusters, events } = this.#options;
      images.forget();
      const found = (await images.list(name)).filter(
        (image) => image.version === version && (arch === undefined || image.arch === arch),
      );
      if (found.length === 0) {
        throw new RailheadError('RH_NOT_FOUND', `There is no sysext image of ${name} ${version}.`, {
          hint: '`npx railhead sysext list` shows those that there are.',
        });
      }
      const users = clustersAt(name, version, clusters());
      if (users.length > 0 && !force) {
        throw new RailheadError(
          'RH_SYSEXT_NEEDED',
          `${name} ${version} is the version of ${users.join(', ')}.`,
          {
            hint: 'Its hosts could not be set up without it. --force removes it all the same.',
            details: { clusters: users },
          },
        );
      }
      for (const image of found) {
        await contents.alias(retiredNameOf(image), image.path);
        await contents.remove(image.path);
        images.forget();
        await events.append({ kind: 'feed.removed', data: { file: image.file } });
      }
      return found;
    });
  }

  /** Removes for good what was taken out long enough ago. */
  async sweep(): Promise<void> {
    const { images, contents, now } = this.#options;
    images.forget();
    for (const image of await images.retired()) {
      if (image.addedAt <= now() - GRACE_MS) await contents.remove(image.path);
    }
  }

  async #complete(upload: Upload, path: string): Promise<Published> {
    const { size, sha256 } = await hashFile(path);
    if (upload.sha256 !== undefined && sha256 !== upload.sha256) {
      throw invalidImage(fileOf(upload.id), `its SHA-256 is ${sha256}, expected ${upload.sha256}`);
    }
    const published = await this.#inTurn(() => this.#add(upload, { path, size, sha256 }));
    await rm(path, { force: true });
    return published;
  }

  async #add(
    { id, force, origin, sha256: expected }: Upload,
    { path, size, sha256 }: { path: string; size: number; sha256: string },
  ): Promise<Published> {
    const { images, contents, events } = this.#options;
    images.forget();
    const there = await images.find(id);
    if (there?.sha256 === sha256) return { image: there, isNew: false };
    if (there !== undefined) assertReplaceable(there, force);
    const verifiedHow = expected === undefined ? 'nobody' : 'SHA-256';
    await contents.adopt({ from: path, name: contentNameOf(id), origin, sha256, size, verifiedHow });
    images.forget();
    await events.append({ kind: 'feed.published', data: { file: fileOf(id), bytes: size, sha256, origin } });
    return { image: (await images.find(id))!, isNew: true };
  }

  /** Where the content store sweeps up what nobody goes on with. */
  async #stagedAt(sha256: string | undefined): Promise<string> {
    const folder = join(this.#options.assetsDir, CONTENT_FOLDER, 'copies');
    await mkdir(folder, { recursive: true });
    return join(folder, `${sha256 ?? randomBytes(8).toString('hex')}.partial`);
  }

  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(change);
    this.#tail = result.catch(() => {});
    return result;
  }
}

/** A version is what it is: hosts that have it would never fetch it again. */
function assertReplaceable({ file, sha256 }: SysextImage, force: boolean): void {
  if (force) return;
  throw new RailheadError(
    'RH_SYSEXT_EXISTS',
    `${file} is there already, with other bytes (SHA-256 ${sha256}).`,
    {
      hint: 'Give the new image a version of its own: hosts that have this one never fetch it again. --force replaces it.',
    },
  );
}
