// Which Node.js there is, and for which C library.
import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { read } from './files.mjs';

/**
 * The Node.js that the lock file brings along for this platform.
 *
 * @param {string} root
 * @returns {string | undefined} path of the binary
 */
export function bundledNode(root) {
  if (process.platform !== 'linux' || libc() === 'musl') return undefined;
  const node = join(root, 'node_modules', `node-linux-${process.arch}`, 'bin', 'node');
  try {
    accessSync(node, constants.X_OK);
    return node;
  } catch {
    return undefined;
  }
}

/** @returns {string | undefined} */
export function libc() {
  if (process.platform !== 'linux') return undefined;
  const ldd = read('/usr/bin/ldd'); // a script that names its libc, on both families
  if (ldd !== undefined) return ldd.includes('musl') ? 'musl' : 'glibc';
  return existsSync('/etc/alpine-release') ? 'musl' : 'glibc';
}
