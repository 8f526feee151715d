import { isUtf8 } from 'node:buffer';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Problem } from '../document/problem.ts';
import { RailheadError, systemCode } from '../errors.ts';
import type { SourceFile } from './collect.ts';

/** 10,000 hosts are about 3 MB; what is larger than this is not an inventory. */
export const MAX_FILE_BYTES = 16 * 1024 * 1024;
/** All files of a folder together. */
export const MAX_FOLDER_BYTES = 64 * 1024 * 1024;

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
  const refuse = (file: string, message: string, place = { line: 1, col: 1 }): void => {
    folder.problems.push({ severity: 'error', file, ...place, subject: '', message });
  };
  const inventoryFiles = names.filter(isInventoryFile).sort();
  // A folder that is not mounted, or the wrong one, is empty: that must not read as "no hosts any more".
  if (inventoryFiles.length === 0) {
    const how = 'an inventory without hosts is a file with `hosts: []`';
    refuse(shownAs, `there is no *.yaml file in this folder; ${how}`, { line: 0, col: 0 });
  }
  let bytes = 0;
  for (const name of inventoryFiles) {
    const file = join(shownAs, name);
    try {
      const content = await readBounded(join(dir, name), MAX_FOLDER_BYTES - bytes);
      bytes += content.length;
      if (isUtf8(content)) folder.files.push({ name: file, text: content.toString('utf8') });
      else refuse(file, 'not UTF-8 text; save it as UTF-8', placeOfBadByte(content));
    } catch (error) {
      refuse(file, error instanceof NotTaken ? error.message : `can't be read: ${reasonOf(error)}`);
    }
  }
  return folder;
}

class NotTaken extends Error {}

async function readBounded(path: string, left: number): Promise<Buffer> {
  const stats = await stat(path);
  // Reading a pipe or a device could wait, or go on, for ever.
  if (!stats.isFile() && !stats.isDirectory()) throw new NotTaken("can't be read: it is not a regular file");
  const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024)} MB`;
  if (stats.size > MAX_FILE_BYTES) {
    const limit = `at most ${megabytes(MAX_FILE_BYTES)} are read`;
    throw new NotTaken(
      `the file has ${megabytes(stats.size)}, ${limit}; split it, or move it out of the folder`,
    );
  }
  if (stats.size > left) {
    const limit = `more than ${megabytes(MAX_FOLDER_BYTES)}`;
    throw new NotTaken(`with this file the folder has ${limit}; move what is not inventory out of it`);
  }
  return readFile(path);
}

function placeOfBadByte(content: Buffer): { line: number; col: number } {
  const before = content.toString('utf8').split('\uFFFD', 1)[0]!.split('\n');
  return { line: before.length, col: before.at(-1)!.length + 1 };
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
