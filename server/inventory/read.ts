import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Problem } from '../document/problem.ts';
import { RailheadError, systemCode } from '../errors.ts';
import type { SourceFile } from './collect.ts';

/** 10,000 hosts are about 3 MB; what is larger than this is not an inventory. */
export const MAX_FILE_BYTES = 16 * 1024 * 1024;

export interface InventoryFolder {
  files: SourceFile[];
  /** Files that are there but can't be taken. */
  problems: Problem[];
}

/** The YAML files of a folder, in name order. `shownAs` is the folder's name in messages. */
export async function readInventoryFolder(dir: string, shownAs: string): Promise<InventoryFolder> {
  const names = await readdir(dir).catch((error: unknown) => {
    const reason = reasonOf(error);
    throw new RailheadError('RH_INVENTORY_UNREADABLE', `Can't read the inventory folder ${dir}: ${reason}.`, {
      hint: 'Say which folder with --inventory DIR, or mend its rights.',
      cause: error,
    });
  });
  const folder: InventoryFolder = { files: [], problems: [] };
  for (const name of names.filter(isInventoryFile).sort()) {
    const file = join(shownAs, name);
    try {
      folder.files.push({ name: file, text: await readBounded(join(dir, name)) });
    } catch (error) {
      const message = error instanceof TooLarge ? error.message : `can't be read: ${reasonOf(error)}`;
      folder.problems.push({ severity: 'error', file, line: 1, col: 1, subject: '', message });
    }
  }
  return folder;
}

class TooLarge extends Error {}

async function readBounded(path: string): Promise<string> {
  const { size } = await stat(path);
  if (size > MAX_FILE_BYTES) {
    const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024)} MB`;
    throw new TooLarge(
      `the file has ${megabytes(size)}, at most ${megabytes(MAX_FILE_BYTES)} are read; split it, or move it out of the folder`,
    );
  }
  return readFile(path, 'utf8');
}

/** Editors leave `.hosts.yaml.swp`, `hosts.yaml~` and `#hosts.yaml#` around: those are not inventory. */
export function isInventoryFile(name: string): boolean {
  return /\.ya?ml$/.test(name) && !name.startsWith('.') && !name.startsWith('#');
}

function reasonOf(error: unknown): string {
  const reasons: Record<string, string> = {
    ENOENT: 'it is not there',
    ENOTDIR: 'it is not a folder',
    EISDIR: 'it is a folder, not a file',
    EACCES: 'no right to read it',
    EPERM: 'no right to read it',
    ELOOP: 'its symbolic links go in a circle',
  };
  return reasons[systemCode(error) ?? ''] ?? String((error as Error).message);
}
