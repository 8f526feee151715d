import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, link, mkdir, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { systemCode } from '../errors.ts';

/** What a file system says that has no hard links, or no more of them. */
const NO_LINKS = /^(EPERM|ENOTSUP|EOPNOTSUPP|ENOSYS|EXDEV|EMLINK|EACCES)$/;

/**
 * Gives a file a second name, in one step: whoever looks sees what was there before or the whole file. Where there can
 * be no hard links it is copied. The bytes and the name are on disk when this returns.
 */
export async function linkAtomically(from: string, to: string, makeLink = link): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  const temporary = join(dirname(to), `.${basename(to)}.${randomBytes(6).toString('hex')}.partial`);
  try {
    try {
      await makeLink(from, temporary);
    } catch (error) {
      if (!NO_LINKS.test(systemCode(error) ?? '')) throw error;
      await copyToDisk(from, temporary);
    }
    await rename(temporary, to);
  } finally {
    // Also when all went well: renaming one of two names of a file to the other leaves both.
    await rm(temporary, { force: true });
  }
  await syncFolder(dirname(to));
}

/** What `linkAtomically` leaves when its process is killed. */
export function isTemporaryName(name: string): boolean {
  return /^\..+\.[0-9a-f]{12}\.partial$/.test(name);
}

/** A copy that is on disk when this returns, sharing blocks where the file system can. */
export async function copyToDisk(from: string, to: string): Promise<void> {
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await syncFile(to);
}

export async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** So that a name survives a power cut. Some file systems can't be asked for it. */
export async function syncFolder(path: string): Promise<void> {
  await syncFile(path).catch(() => {});
}
