// Which Node.js there is, and for which C library.
import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { read } from './files.mjs';

/** The oldest major version that Railhead runs on. */
export const OLDEST_NODE = 24;

/** @returns {string | undefined} the npm package with a Node.js for this machine, if there can be one */
function bundledNodePackage() {
  return process.platform === 'linux' && libc() !== 'musl' ? `node-linux-${process.arch}` : undefined;
}

/**
 * The Node.js that the lock file brings along for this platform.
 *
 * @param {string} root
 * @returns {string | undefined} path of the binary
 */
export function bundledNode(root) {
  const name = bundledNodePackage();
  if (name === undefined) return undefined;
  const node = join(root, 'node_modules', name, 'bin', 'node');
  try {
    accessSync(node, constants.X_OK);
    return node;
  } catch {
    return undefined;
  }
}

/**
 * @typedef {object} LockedNode the bundled Node of the lock file
 * @property {string} name of its package
 * @property {string} version
 * @property {object} entry
 */

/**
 * @param {string} root
 * @returns {LockedNode | undefined} undefined where none fits this machine
 */
export function lockedNode(root) {
  const name = bundledNodePackage();
  const { packages = {} } = JSON.parse(read(join(root, 'package-lock.json')) ?? '{}');
  const entry = packages[`node_modules/${name}`];
  return name === undefined || entry === undefined ? undefined : { name, version: entry.version, entry };
}

/**
 * The version of the Node that npm runs on in this checkout.
 *
 * @param {string} root
 */
export function versionForNpm(root) {
  const bundled = isOld(process.version) ? lockedNode(root) : undefined;
  return bundled === undefined ? process.version : `v${bundled.version}`;
}

/** @param {string} version */
export function isOld(version) {
  return Number(/\d+/.exec(version)?.[0]) < OLDEST_NODE;
}

/** @returns {string | undefined} */
export function libc() {
  if (process.platform !== 'linux') return undefined;
  const ldd = read('/usr/bin/ldd'); // a script that names its libc, on both families
  if (ldd !== undefined) return ldd.includes('musl') ? 'musl' : 'glibc';
  return existsSync('/etc/alpine-release') ? 'musl' : 'glibc';
}
