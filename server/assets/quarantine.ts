import { chmod, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

/** Folder of files that failed their checks, below the assets folder; served to nobody. */
const FOLDER = '.bad';

/** Keeps a bad file aside with the reason, for people who want to know; only the last one of each name. */
export async function setAside(
  assetsDir: string,
  name: string,
  /** Without it, only the reason is kept. */
  file: string | undefined,
  reason: string,
): Promise<string> {
  const path = join(assetsDir, FOLDER, name);
  await mkdir(dirname(path), { recursive: true });
  if (file !== undefined) {
    await rename(file, path);
    await chmod(path, 0o600).catch(() => {});
  }
  const note = `${path}.reason.txt`;
  await writeFile(note, `${new Date().toISOString()} ${name}\n${reason}\n`);
  return relative(assetsDir, note);
}

/** What was set aside, with the reasons. */
export async function listAside(assetsDir: string): Promise<{ path: string; size: number }[]> {
  const root = join(assetsDir, FOLDER);
  const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => []);
  return Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async (entry) => {
        const path = join(entry.parentPath, entry.name);
        return { path: relative(assetsDir, path), size: (await stat(path)).size };
      }),
  );
}

export async function emptyAside(assetsDir: string): Promise<void> {
  await rm(join(assetsDir, FOLDER), { recursive: true, force: true });
}
