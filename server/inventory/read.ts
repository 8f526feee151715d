import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { RailheadError, systemCode } from '../errors.ts';
import type { SourceFile } from './collect.ts';

/** 10,000 hosts are about 3 MB; what is larger than this is not an inventory. */
export const MAX_FILE_BYTES = 16 * 1024 * 1024;

/** The YAML files of an inventory folder, in name order. `shownAs` is the folder's name in messages. */
export async function readInventoryFolder(
  dir: string,
  shownAs: string = basename(dir),
): Promise<SourceFile[]> {
  const names = await attempt(dir, () => readdir(dir));
  const files = names.filter(isInventoryFile).sort();
  return Promise.all(
    files.map(async (name) => {
      const path = join(dir, name);
      const { size } = await attempt(path, () => stat(path));
      if (size > MAX_FILE_BYTES) {
        const limit = MAX_FILE_BYTES / 1024 / 1024;
        throw new RailheadError(
          'RH_INVENTORY_INVALID',
          `${join(shownAs, name)}: the file has ${Math.round(size / 1024 / 1024)} MB; at most ${limit} MB are read.`,
          { hint: 'Split it into several files, or move what is not inventory out of the folder.' },
        );
      }
      return { name: join(shownAs, name), text: await attempt(path, () => readFile(path, 'utf8')) };
    }),
  );
}

/** Editors leave `.hosts.yaml.swp`, `hosts.yaml~` and `#hosts.yaml#` around: those are not inventory. */
export function isInventoryFile(name: string): boolean {
  return /\.ya?ml$/.test(name) && !name.startsWith('.') && !name.startsWith('#');
}

async function attempt<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const reasons: Record<string, string> = {
      ENOENT: 'it is not there',
      ENOTDIR: 'it is not a folder',
      EISDIR: 'it is a folder, not a file',
      EACCES: 'no right to read it',
      EPERM: 'no right to read it',
      ELOOP: 'its symbolic links go in a circle',
    };
    const reason = reasons[systemCode(error) ?? ''];
    if (reason === undefined) throw error;
    throw new RailheadError('RH_INVENTORY_UNREADABLE', `Can't read the inventory at ${path}: ${reason}.`, {
      hint: 'Say which folder with --inventory DIR, or mend its rights.',
      cause: error,
    });
  }
}
