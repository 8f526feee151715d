import { posix } from 'node:path';
import { quote } from '../../document/problem.ts';

/** Why a path can't be used, or undefined when it can: it must be absolute, and written in the shortest way. */
export function pathFault(path: string): string | undefined {
  if (path === '') return 'a path is missing; write an absolute one, such as "/etc/hostname"';
  if (!path.startsWith('/')) return `${quote(path)} is not absolute; start it with "/"`;
  const clean = cleanPath(path);
  return clean === path ? undefined : `${quote(path)} is not in its shortest form; write ${quote(clean)}`;
}

/** Without "//", "/./", "/../" and a "/" at the end. */
export function cleanPath(path: string): string {
  const normal = posix.normalize(path);
  return normal.length > 1 && normal.endsWith('/') ? normal.slice(0, -1) : normal;
}

/** Every folder above a path, the nearest first, "/" excepted. */
export function foldersAbove(path: string): string[] {
  const above: string[] = [];
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    above.push(path.slice(0, end));
  }
  return above;
}
