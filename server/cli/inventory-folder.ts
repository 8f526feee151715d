import { relative, resolve } from 'node:path';
import type { CliIo } from './io.ts';

/** A folder the way a person would type it from where they stand, so that a message's place can be clicked. */
export function shownAs(io: CliIo, dir: string): string {
  const short = relative(io.cwd, dir);
  return short === '' ? '.' : short.startsWith('..') ? dir : short;
}

export function folderArgument(io: CliIo, given: string | undefined, fallback: string): string {
  return given === undefined ? fallback : resolve(io.cwd, given);
}
