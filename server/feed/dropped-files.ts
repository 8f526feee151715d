import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ContentStore } from '../content/store.ts';
import type { EventLog } from '../events/log.ts';
import { parseFileOf, SYSEXT_FOLDER } from './image-name.ts';
import { SUPERBLOCK_BYTES, squashfsFault } from './squashfs.ts';

export interface DroppedFilesOptions {
  contents: Pick<ContentStore, 'names' | 'put'>;
  events: Pick<EventLog, 'append'>;
  assetsDir: string;
  now: () => number;
}

/** A file that was written to just now may still be on its way. */
const SETTLED_MS = 10_000;

/**
 * Images that somebody copied into `sysext/<name>/` by hand. Each is looked at, hashed once and taken into the content
 * store, like one that was published; what is no image is reported once and left alone.
 */
export class DroppedFiles {
  readonly #options: DroppedFilesOptions;
  /** Path and time of change of those that were reported. */
  readonly #refused = new Map<string, number>();

  constructor(options: DroppedFilesOptions) {
    this.#options = options;
  }

  async takeIn(): Promise<void> {
    const { contents, assetsDir } = this.#options;
    const folder = join(assetsDir, SYSEXT_FOLDER);
    const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
    const files = entries
      .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
    if (files.length === 0) return;
    const known = new Set((await contents.names(`${SYSEXT_FOLDER}/`)).map(({ name }) => name));
    for (const file of files) {
      if (!known.has(`${SYSEXT_FOLDER}/${file}`)) await this.#take(file);
    }
  }

  async #take(file: string): Promise<void> {
    const { contents, events, assetsDir, now } = this.#options;
    const name = `${SYSEXT_FOLDER}/${file}`;
    const path = join(assetsDir, name);
    const found = await stat(path).catch(() => undefined);
    if (found === undefined || found.mtimeMs > now() - SETTLED_MS) return;
    const fault = await faultOf(file, path, found.size);
    if (fault !== undefined) {
      if (this.#refused.get(path) === found.mtimeMs) return;
      this.#refused.set(path, found.mtimeMs);
      return void (await events.append({ kind: 'feed.refused', data: { file: name, reason: fault } }));
    }
    const origin = 'put into the folder by hand';
    const { sha256, size } = await contents.put({ from: path, name, origin });
    const plain = file.slice(file.lastIndexOf('/') + 1);
    await events.append({ kind: 'feed.published', data: { file: plain, bytes: size, sha256, origin } });
  }
}

async function faultOf(file: string, path: string, size: number): Promise<string | undefined> {
  const [name = '', plain = '', ...rest] = file.split('/');
  if (rest.length > 0 || parseFileOf(name, plain) === undefined) {
    return 'it is not called <name>/<name>-<version>-<x86-64|arm64>.raw';
  }
  const handle = await open(path, 'r');
  try {
    const beginning = Buffer.alloc(SUPERBLOCK_BYTES);
    const { bytesRead } = await handle.read(beginning, 0, SUPERBLOCK_BYTES, 0);
    return squashfsFault(beginning.subarray(0, bytesRead), size);
  } finally {
    await handle.close();
  }
}
