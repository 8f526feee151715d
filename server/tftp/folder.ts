import { constants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { systemCode } from '../errors.ts';
import { ERROR_CODE } from './codec.ts';
import type { FileRequest, Resolution, Resolver } from './resolve.ts';

export interface FolderLimits {
  /** Files that nobody is reading are kept in memory up to this many bytes. */
  idleBytes: number;
  /** All files that are being read, together. */
  busyBytes: number;
}

const DEFAULT_LIMITS: FolderLimits = { idleBytes: 32 * 1024 * 1024, busyBytes: 1024 * 1024 * 1024 };

interface Entry {
  identity: string;
  content: Promise<Buffer>;
  size: number;
  readers: number;
}

/**
 * Serves the files of one folder. A file is in memory once, however many read it; when it changes on disk, those who
 * are reading it keep what they began with and the next ones get the new one.
 */
export class Folder {
  readonly #root: string;
  readonly #limits: FolderLimits;
  /** By real path, in the order of use: the first is the one that was not wanted for longest. */
  readonly #entries = new Map<string, Entry>();

  constructor(root: string, limits: FolderLimits = DEFAULT_LIMITS) {
    this.#root = root;
    this.#limits = limits;
  }

  readonly resolve: Resolver = async ({ name }: FileRequest): Promise<Resolution | undefined> => {
    // Such as the list of what was fetched: kept there, but nobody's to ask for.
    if (name.split('/').some((part) => part.startsWith('.'))) return undefined;
    let handle: FileHandle | undefined;
    try {
      const root = await realpath(this.#root);
      const path = await realpath(join(root, name));
      if (!path.startsWith(root + sep)) {
        return { code: ERROR_CODE.accessViolation, reason: `${name} is a link that leads out of the root` };
      }
      // Not to hang on a pipe, and not to follow a link that was put there since.
      handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
      return await this.#take(path, handle, name);
    } catch (error) {
      return refusal(error, name);
    } finally {
      await handle?.close();
    }
  };

  /** How many bytes of files are in memory. */
  get bytes(): number {
    return [...this.#entries.values()].reduce((total, entry) => total + entry.size, 0);
  }

  async #take(path: string, handle: FileHandle, name: string): Promise<Resolution> {
    const stat = await handle.stat();
    if (!stat.isFile()) return { code: ERROR_CODE.accessViolation, reason: `${name} is not a file` };
    const identity = `${stat.dev} ${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}`;
    let entry = this.#entries.get(path);
    if (entry?.identity !== identity) {
      if (stat.size > this.#limits.busyBytes) {
        return { code: ERROR_CODE.undefined, reason: `${name} is too large for TFTP; use HTTP` };
      }
      if (this.#busyBytes() + stat.size > this.#limits.busyBytes) {
        return {
          code: ERROR_CODE.undefined,
          reason: 'too many large files are being read at once; try again',
        };
      }
      entry = { identity, content: handle.readFile(), size: stat.size, readers: 0 };
    }
    // Last in the order of use.
    this.#entries.delete(path);
    this.#entries.set(path, entry);
    entry.readers++;
    const release = (): void => {
      entry.readers--;
      this.#trim();
    };
    try {
      return { content: await entry.content, release };
    } catch (error) {
      this.#entries.delete(path);
      release();
      throw error;
    }
  }

  #busyBytes(): number {
    return [...this.#entries.values()].reduce(
      (total, { readers, size }) => total + (readers > 0 ? size : 0),
      0,
    );
  }

  #trim(): void {
    let idle = 0;
    for (const [path, entry] of [...this.#entries].reverse()) {
      if (entry.readers > 0) continue;
      idle += entry.size;
      if (idle > this.#limits.idleBytes) this.#entries.delete(path);
    }
  }
}

function refusal(error: unknown, name: string): Resolution | undefined {
  switch (systemCode(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
    case 'ENAMETOOLONG':
      return undefined;
    case 'EACCES':
    case 'EPERM':
      return { code: ERROR_CODE.accessViolation, reason: `no right to read ${name}` };
    case 'ELOOP':
      return { code: ERROR_CODE.accessViolation, reason: `the links of ${name} go in a circle` };
    case 'ENXIO':
      return { code: ERROR_CODE.accessViolation, reason: `${name} is not a file` };
    default:
      return { code: ERROR_CODE.undefined, reason: `${name} can't be read: ${(error as Error).message}` };
  }
}
