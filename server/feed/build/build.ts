import type { Dirent } from 'node:fs';
import {
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, sep } from 'node:path';
import { RailheadError, systemCode } from '../../errors.ts';
import type { ImageId } from '../image-name.ts';
import { type TreeEntry, treeFault } from './check-tree.ts';
import { extensionRelease, RELEASE_FOLDER, releaseFault, releasePath } from './extension-release.ts';
import { type Added, assertMksquashfs, type Environment, squash } from './mksquashfs.ts';

export interface BuildOptions {
  dir: string;
  id: ImageId;
  output: string;
  /** Seconds since 1970, for everything in the image. */
  time: number;
  env: Environment;
}

/** Makes a sysext image of a folder, which stays as it is. The image appears under its name when it is whole. */
export async function buildSysext({ dir, id, output, time, env }: BuildOptions): Promise<void> {
  const root = await realpath(dir).catch((error: unknown) => {
    throw new RailheadError('RH_USAGE', `There is no folder ${dir}.`, { cause: error });
  });
  if (!(await stat(root)).isDirectory()) throw new RailheadError('RH_USAGE', `${dir} is no folder.`);
  await assertMksquashfs(env);
  const entries = await readTree(root);
  const added = await missingRelease(root, entries, id);
  const work = await mkdtemp(join(tmpdir(), 'railhead-sysext-'));
  const unfinished = join(dirname(output), `.${basename(output)}.${basename(work)}.partial`);
  try {
    const release = join(work, 'extension-release');
    await writeFile(release, extensionRelease(id));
    const files = new Map<string, Added>();
    for (const path of added) files.set(path, path === releasePath(id.name) ? { from: release } : 'folder');
    await squash({ dir: root, output: unfinished, added: files, time }, env);
    await rename(unfinished, output);
  } catch (error) {
    throw explain(error, output);
  } finally {
    await rm(unfinished, { force: true });
    await rm(work, { recursive: true, force: true });
  }
}

/** Everything in the folder; throws at the first thing that can't be in an image. */
async function readTree(root: string): Promise<Map<string, TreeEntry>> {
  const found = await readdir(root, { recursive: true, withFileTypes: true });
  const entries = new Map<string, TreeEntry>();
  for (const dirent of found) {
    const full = join(dirent.parentPath, dirent.name);
    const path = relative(root, full).split(sep).join('/');
    const type = typeOf(dirent);
    const entry: TreeEntry = { path, type, ...(type === 'link' ? { target: await readlink(full) } : {}) };
    const fault = treeFault(entry, root);
    if (fault !== undefined) throw invalid(path, fault);
    entries.set(path, entry);
  }
  if (entries.size === 0) {
    throw new RailheadError('RH_SYSEXT_INVALID', `${root} is empty.`, {
      hint: 'Put what hosts are to have into usr/ below it.',
    });
  }
  return entries;
}

/** What the folder lacks of the extension-release file, from the top; checks the one that is there. */
async function missingRelease(
  root: string,
  entries: ReadonlyMap<string, TreeEntry>,
  id: ImageId,
): Promise<string[]> {
  const own = releasePath(id.name);
  const others = [...entries.keys()].filter((path) => path.startsWith(`${RELEASE_FOLDER}/`) && path !== own);
  if (others.length > 0) {
    throw invalid(
      others[0]!,
      `systemd takes only ${basename(own)} for an extension that is called ${id.name}`,
    );
  }
  const folders = own.split('/').map((_part, index, parts) => parts.slice(0, index + 1).join('/'));
  for (const path of folders.slice(0, -1)) {
    const entry = entries.get(path);
    if (entry !== undefined && entry.type !== 'folder') throw invalid(path, 'it has to be a folder');
  }
  const there = entries.get(own);
  if (there === undefined) return folders.filter((path) => !entries.has(path));
  if (there.type !== 'file') throw invalid(own, 'it has to be a plain file');
  const fault = releaseFault(await readFile(join(root, own), 'utf8'), id);
  if (fault !== undefined) throw invalid(own, fault);
  return [];
}

function typeOf(dirent: Dirent): TreeEntry['type'] {
  if (dirent.isSymbolicLink()) return 'link';
  if (dirent.isDirectory()) return 'folder';
  return dirent.isFile() ? 'file' : 'other';
}

function invalid(path: string, fault: string): RailheadError {
  return new RailheadError('RH_SYSEXT_INVALID', `${path}: ${fault}.`, {
    hint: 'A sysext image adds files to /usr and /opt of its hosts; see docs/feed.md.',
    details: { path },
  });
}

function explain(error: unknown, output: string): unknown {
  const code = systemCode(error) ?? '';
  if (!['ENOENT', 'EACCES', 'EPERM', 'ENOTDIR', 'EISDIR'].includes(code)) return error;
  return new RailheadError('RH_USAGE', `Can't write ${output} (${code}).`, { cause: error });
}
