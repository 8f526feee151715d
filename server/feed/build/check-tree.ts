import { posix } from 'node:path';

/** One thing in the folder that becomes an image. */
export interface TreeEntry {
  /** From the folder, with `/`. */
  path: string;
  type: 'file' | 'folder' | 'link' | 'other';
  /** Where a link leads, as it is written. */
  target?: string;
}

/** All that systemd merges into a running system. */
const ALLOWED_ROOTS = ['usr', 'opt'];

/** Why this can't be in an extension, in words that follow its path; `undefined` when it can. */
export function treeFault({ path, type, target }: TreeEntry, dir: string): string | undefined {
  const [root = '', ...below] = path.split('/');
  if (!ALLOWED_ROOTS.includes(root)) return 'only usr/ and opt/ can be in a sysext image';
  if (below.length === 0 && type !== 'folder') return 'it has to be a folder';
  if (type === 'other') return 'devices, sockets and pipes can not be in a sysext image';
  if (type === 'link') return linkFault(path, target ?? '', dir);
  return undefined;
}

/**
 * A link is kept as it is and followed on the host, so one to a place that only hosts have is fine. One that leads to
 * this machine's folder, or up beyond the root, was meant for something else.
 */
function linkFault(path: string, target: string, dir: string): string | undefined {
  if (target.startsWith('/')) {
    const isHere = `${posix.normalize(target)}/`.startsWith(`${dir}/`);
    return isHere ? `it leads to ${target}, which hosts don't have` : undefined;
  }
  const reached = posix.normalize(posix.join(posix.dirname(path), target));
  return reached.startsWith('..') ? `it leads out of the image (${target})` : undefined;
}
