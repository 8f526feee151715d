import { createHash } from 'node:crypto';
import { type FSWatcher, watch } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '../errors.ts';
import { isInventoryFile } from './read.ts';

export interface WatchTimes {
  settleMs: number;
  pollMs: number;
}

const TIMES: WatchTimes = {
  /** Long enough for an editor's rename-and-write to be over, short enough to feel immediate. */
  settleMs: 100,
  /** Network file systems and bind mounts often tell nothing: look now and then, too. */
  pollMs: 2000,
};

/**
 * Calls back after the YAML files of a folder have changed. The folder is watched, not the files, because most
 * editors write a new file and rename it over the old one.
 */
export class FolderWatcher {
  readonly #dir: string;
  readonly #onChange: () => void;
  readonly #times: WatchTimes;
  #stopped = false;
  #watcher: FSWatcher | undefined;
  #poll: NodeJS.Timeout | undefined;
  #settle: NodeJS.Timeout | undefined;
  #signature = '';

  constructor(dir: string, onChange: () => void, times: WatchTimes = TIMES) {
    this.#dir = dir;
    this.#onChange = onChange;
    this.#times = times;
  }

  async start(): Promise<void> {
    // First the watch, then the signature: what happens in between is then seen by one of them.
    this.#watch();
    this.#signature = await folderSignature(this.#dir);
    if (this.#stopped) return;
    this.#poll = setInterval(() => void this.#look(), this.#times.pollMs);
    this.#poll.unref();
  }

  stop(): void {
    this.#stopped = true;
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
        this.#settle = setTimeout(() => void this.#look(), this.#times.settleMs);
      });
      // A folder that is removed ends the watch; the poll finds it again when it is back.
      this.#watcher.on('error', () => this.#watcher?.close());
    } catch {
      // Not there, or no inotify handles left: the poll does it alone.
    }
  }

  async #look(): Promise<void> {
    const signature = await folderSignature(this.#dir);
    if (this.#stopped || signature === this.#signature) return;
    const folderWasReplaced = signature.split('/')[0] !== this.#signature.split('/')[0];
    this.#signature = signature;
    if (folderWasReplaced) this.#watch();
    this.#onChange();
  }
}

/** Changes whenever a file of the inventory, or the folder itself, does. Never fails: being unreadable is a state. */
export async function folderSignature(dir: string): Promise<string> {
  try {
    // A new folder may get the number of the one it replaces, but is never born at the same moment.
    const { dev, ino, birthtimeMs } = await stat(dir);
    const names = (await readdir(dir)).filter(isInventoryFile).sort();
    const lines = await Promise.all(
      names.map(async (name) => {
        const file = await stat(join(dir, name)).catch((error) => systemCode(error));
        return typeof file === 'object'
          ? `${name} ${file.dev} ${file.ino} ${file.size} ${file.mtimeMs} ${file.ctimeMs}`
          : `${name} ${file}`;
      }),
    );
    return `${dev}.${ino}.${birthtimeMs}/${createHash('sha1').update(lines.join('\n')).digest('hex')}`;
  } catch (error) {
    return `unreadable ${systemCode(error)}/`;
  }
}
