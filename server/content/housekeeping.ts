import { readdir, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isTemporaryName } from './link.ts';
import { CONTENT_FOLDER, COPIES_FOLDER } from './names.ts';

/** Copies that a crash left are swept when they are older than any that is still being made. */
const ABANDONED_MS = 3_600_000;

/** Copies that were being checked, and names that were being given, when a process was killed. */
export async function sweepAbandoned(assetsDir: string, now: number): Promise<void> {
  const entries = await readdir(assetsDir, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const { parentPath, name } of entries.filter((entry) => entry.isFile())) {
    const isOurs = parentPath === join(assetsDir, COPIES_FOLDER) || isTemporaryName(name);
    const path = join(parentPath, name);
    const found = isOurs ? await stat(path).catch(() => undefined) : undefined;
    // By its ctime: a link is as old as what it leads to.
    if (found !== undefined && found.ctimeMs < now - ABANDONED_MS) {
      await rm(path, { force: true }).catch(() => {});
    }
  }
}

/** Folders that have lost their last file, from `dir` up to the assets folder itself. */
export async function removeEmptyFolders(assetsDir: string, dir: string): Promise<void> {
  for (let at = dir; at !== '.'; at = dirname(at)) {
    const isRemoved = await rmdir(join(assetsDir, at)).then(
      () => true,
      () => false,
    );
    if (!isRemoved) return;
  }
}

/** The contents on disk whose hash is one of those that are asked for. */
export async function filesByHash(
  assetsDir: string,
  isWanted: (sha256: string) => boolean,
): Promise<{ path: string; size: number }[]> {
  const root = join(assetsDir, CONTENT_FOLDER, 'sha256');
  const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile() && isWanted(entry.name));
  return Promise.all(
    files.map(async ({ parentPath, name }) => {
      const path = join(parentPath, name);
      return { path, size: (await stat(path)).size };
    }),
  );
}
