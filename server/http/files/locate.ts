import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { isAbsolute, join, sep } from 'node:path';
import { RailheadError, systemCode } from '../../errors.ts';

/** Which bytes: another file, or the same one after a change, has another key. */
export interface Identity {
  key: string;
  size: number;
  modifiedAt: number;
  modifiedNs: bigint;
}

export interface Located {
  handle: FileHandle;
  identity: Identity;
}

/** Opens a file of the folder, never anything else: not through `..`, a link that leads out, or a pipe. */
export async function locate({ root, path }: { root: string; path: string }): Promise<Located> {
  if (!isInside(path)) throw notFound(path);
  let handle: FileHandle | undefined;
  try {
    const realRoot = await realpath(root);
    const realPath = await realpath(join(realRoot, path));
    if (!realPath.startsWith(realRoot === sep ? sep : realRoot + sep)) throw notFound(path);
    // Not to hang on a pipe, and not to follow a link that was put there since.
    handle = await open(realPath, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    const stat = await handle.stat({ bigint: true });
    if (!stat.isFile()) throw notFound(path);
    return { handle, identity: identify(stat) };
  } catch (error) {
    await handle?.close();
    throw explain(error, path);
  }
}

/** A file that was cut or written to since it was opened is not the one that was promised. */
export function isStill(identity: Identity, stat: BigIntStats): boolean {
  // Not by its ctime: that changes also when another file takes its name.
  return Number(stat.size) === identity.size && stat.mtimeNs === identity.modifiedNs;
}

export function unavailable(path: string, why: string, cause?: unknown): RailheadError {
  return new RailheadError('RH_IMAGE_UNAVAILABLE', `The file ${path} can't be served: ${why}.`, {
    hint: 'Fetch it again, or look at the disk that holds it; machines that ask in the meantime try again.',
    cause,
  });
}

function isInside(path: string): boolean {
  return path !== '' && !path.includes('\0') && !isAbsolute(path) && !path.split(sep).includes('..');
}

function identify(stat: BigIntStats): Identity {
  const { dev, ino, size, mtimeNs, ctimeNs } = stat;
  return {
    key: [dev, ino, size, mtimeNs, ctimeNs].join('-'),
    size: Number(size),
    modifiedAt: Number(mtimeNs / 1_000_000n),
    modifiedNs: mtimeNs,
  };
}

function notFound(path: string): RailheadError {
  return new RailheadError('RH_NOT_FOUND', `There is no file ${JSON.stringify(path)}.`);
}

function explain(error: unknown, path: string): unknown {
  if (error instanceof RailheadError) return error;
  switch (systemCode(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
    case 'ENAMETOOLONG':
    case 'ELOOP':
    case 'ENXIO': // a socket
      return notFound(path);
    case 'EACCES':
    case 'EPERM':
      return unavailable(path, 'Railhead has no right to read it', error);
    default:
      return unavailable(path, `it can't be opened (${systemCode(error) ?? 'for an unknown reason'})`, error);
  }
}
