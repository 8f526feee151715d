import { lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import { systemCode } from '../../errors.ts';
import { FileRefused, type FilesReader, type TreeEntry } from './files.ts';

/** Larger ones don't belong into a config that a machine keeps in memory. */
const MAX_BYTES = 32 * 1024 * 1024;
const MAX_ENTRIES = 10_000;

/** Reads from one folder and never from outside of it: neither by `..` nor through a link that leads away. */
export function readerOfFolder(folder: string): FilesReader {
  const base = resolve(folder);
  const locate = (path: string): string => {
    const full = resolve(join(base, path));
    if (!isWithin(full, base))
      throw new FileRefused(`${JSON.stringify(path)} leads out of the folder of files`);
    const real = attempt(path, () => realpathSync(full));
    if (
      !isWithin(
        real,
        attempt('', () => realpathSync(base)),
      )
    ) {
      throw new FileRefused(`${JSON.stringify(path)} is a link that leads out of the folder of files`);
    }
    return full;
  };
  return {
    read: (path) => readFile(path, locate(path)),
    walk: (path) => {
      const root = locate(path);
      if (!attempt(path, () => statSync(root)).isDirectory()) {
        throw new FileRefused(`${JSON.stringify(path)} is not a folder`);
      }
      const entries: TreeEntry[] = [];
      walk(root, '', entries);
      return entries;
    },
  };
}

function walk(folder: string, prefix: string, entries: TreeEntry[]): void {
  for (const name of readdirSync(folder).sort(byBytes)) {
    const full = join(folder, name);
    const path = prefix === '' ? name : `${prefix}/${name}`;
    const stat = lstatSync(full);
    if (entries.length >= MAX_ENTRIES) throw new FileRefused(`the tree has more than ${MAX_ENTRIES} files`);
    if (stat.isDirectory()) walk(full, path, entries);
    else if (stat.isSymbolicLink()) entries.push({ kind: 'link', path, target: readlinkSync(full) });
    else if (stat.isFile()) {
      const isExecutable = (stat.mode & 0o111) !== 0;
      entries.push({ kind: 'file', path, isExecutable, read: () => readFile(path, full) });
    } else entries.push({ kind: 'other', path });
  }
}

function readFile(path: string, full: string): Uint8Array {
  return attempt(path, () => {
    const stat = statSync(full);
    if (!stat.isFile()) throw new FileRefused(`${JSON.stringify(path)} is not a file`);
    if (stat.size > MAX_BYTES) throw new FileRefused(`${JSON.stringify(path)} is larger than 32 MiB`);
    return readFileSync(full);
  });
}

/** What the system says, in words, without the full path. */
function attempt<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof FileRefused) throw error;
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw new FileRefused(`there is no file ${JSON.stringify(path)}`);
    throw new FileRefused(`${JSON.stringify(path)} can not be read (${code ?? 'unknown error'})`);
  }
}

function isWithin(path: string, base: string): boolean {
  return path === base || path.startsWith(base.endsWith(sep) ? base : base + sep);
}

/** The same on every machine, whatever its language. */
function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
