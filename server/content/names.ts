import { join } from 'node:path';
import { RailheadError } from '../errors.ts';

/** Folder of contents below the assets folder. Served to nobody: its name begins with a dot. */
export const CONTENT_FOLDER = '.content';

/** Folder of copies that are being checked; what a crash leaves there is swept. */
export const COPIES_FOLDER = join(CONTENT_FOLDER, 'copies');

/** A name is a path below the assets folder that is served as it is, so it has nothing to escape and no way out. */
export function assertName(name: string): void {
  const fine = name.length <= 512 && name.split('/').every((part) => /^[\w+~@:-][\w.+~@:-]*$/.test(part));
  if (!fine)
    throw new RailheadError('RH_REQUEST_INVALID', `${JSON.stringify(name)} can't be the name of a file.`);
}

export function isSha256(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

/** Where the content with this hash is, below the assets folder. */
export function contentPath(sha256: string): string {
  return join(CONTENT_FOLDER, 'sha256', sha256.slice(0, 2), sha256);
}
