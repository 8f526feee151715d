import { createHash } from 'node:crypto';
import { type FSWatcher, watch } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '../errors.ts';
import { isInventoryFile } from './read.ts';

/** Long enough for an editor's rename-and-write to be over, short enough to feel immediate. */
const SETTLE_MS = 100;
/** Network file systems and bind mounts often tell nothing: look now and then, too. */
const POLL_MS = 2000;

/**
 * Calls back after the YAML files of a folder have changed. The folder is watched, not the files, because most
 * editors write a new file and rename it over the old one.
 */
export class FolderWatcher {
  readonly #dir: string;
  readonly #onChange: () => void;
  #watcher: FSWatcher | undefined;
  #poll: NodeJS.Timeout | undefined;
  #settle: NodeJS.Timeout | undefined;
  #signature = '';

  constructor(dir: string, onChange: () => void) {
    this.#dir = dir;
    this.#onChange = onChange;
  }

  async start(): Promise<void> {
    this.#signature = await folderSignature(this.#dir);
    this.#watch();
    this.#poll = setInterval(() => void this.#look(), POLL_MS);
    this.#poll.unref();
  }

  stop(): void {
    this.#watcher?.close();
    clearInterval(this.#poll);
    clearTimeout(this.#settle);
  }

  #watch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    try {
      this.#watcher = watch(this.#dir, { persistent: false }, () => {
        clearTimeout(this.#settle);
        this.#settle = setTimeout(() => void this.#look(), SETTLE_MS);
      });
      // A folder that is removed ends the watch; the poll finds it again when it is back.
      this.#watcher.on('error', () => this.#watch());
    } catch {
      // Not there, or no inotify handles left: the poll does it alone.
    }
  }

  async #look(): Promise<void> {
    const signature = await folderSignature(this.#dir);
    if (signature === this.#signature) return;
    const folderWasReplaced = signature.split('/')[0] !== this.#signature.split('/')[0];
    this.#signature = signature;
    if (folderWasReplaced) this.#watch();
    this.#onChange();
  }
}

/** Changes whenever a file of the inventory, or the folder itself, does. Never fails: being unreadable is a state. */
export async function folderSignature(dir: string): Promise<string> {
  try {
    const { dev, ino } = await stat(dir);
    const names = (await readdir(dir)).filter(isInventoryFile).sort();
    const lines = await Promise.all(
      names.map(async (name) => {
        const file = await stat(join(dir, name)).catch((error) => systemCode(error));
        return typeof file === 'object'
          ? `${name} ${file.dev} ${file.ino} ${file.size} ${file.mtimeMs} ${file.ctimeMs}`
          : `${name} ${file}`;
      }),
    );
    return `${dev}.${ino}/${createHash('sha1').update(lines.join('\n')).digest('hex')}`;
  } catch (error) {
    return `unreadable ${systemCode(error)}/`;
  }
}
