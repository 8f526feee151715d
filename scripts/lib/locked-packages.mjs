// Are the npm packages of this checkout the locked ones?
import { createHash } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorText, read } from './files.mjs';
import { libc, versionForNpm } from './node.mjs';

/**
 * @typedef {object} Where
 * @property {string} root the checkout: the folder that holds package.json
 * @property {boolean} dev whether the packages for development and tests are wanted too
 */

/**
 * @typedef {object} Machine what decides which platform packages apply
 * @property {string} os as process.platform
 * @property {string} cpu as process.arch
 * @property {string | undefined} libc 'glibc', 'musl', or undefined where that means nothing
 */

/**
 * @typedef {object} LockedPackage the fields of a lock file entry that matter here
 * @property {string} [version]
 * @property {string} [integrity]
 * @property {string | string[]} [os]
 * @property {string | string[]} [cpu]
 * @property {string | string[]} [libc]
 * @property {boolean} [link]
 * @property {boolean} [dev]
 * @property {boolean} [optional]
 * @property {boolean} [devOptional]
 */

/**
 * @typedef {object} Missing a locked package that is not installed as locked
 * @property {string} path where it belongs, as in the lock file: 'node_modules/pg'
 * @property {boolean} optional npm may leave it out without failing
 * @property {boolean} dev only development needs it
 */

const LOCK = 'package-lock.json';
/** npm writes this at the end of every install that completes; an interrupted `npm ci` leaves none. */
export const INSTALLED = 'node_modules/.package-lock.json';
/** Ours: optional packages that an install could not get, so that they aren't asked for at every start. */
const UNAVAILABLE = 'node_modules/.railhead-unavailable.json';

/**
 * The locked packages that apply to this machine and are not installed at the locked version. Pure.
 *
 * `devOptional` packages (development wants them, and something optional at run time too) count as optional
 * ones: `npm ci --omit=dev` installs them.
 *
 * @param {string} lockText package-lock.json
 * @param {string | undefined} installedText node_modules/.package-lock.json, undefined when there is none
 * @param {Machine & { dev: boolean }} options
 * @returns {Missing[]}
 */
export function missingPackages(lockText, installedText, { dev, ...machine }) {
  const locked = entries(lockText);
  const installed = new Map(installedText === undefined ? [] : entriesOrNone(installedText));
  return locked
    .filter(([path, entry]) => path.includes('node_modules/') && !entry.link)
    .filter(([, entry]) => dev || !entry.dev)
    .filter(([, entry]) => applies(entry, machine))
    .filter(([path, entry]) => {
      const there = installed.get(path);
      if (there === undefined || there.version !== entry.version) return true;
      return entry.integrity !== undefined && there.integrity !== entry.integrity;
    })
    .map(([path, entry]) => ({
      path,
      optional: Boolean(entry.optional || entry.devOptional),
      dev: Boolean(entry.dev),
    }));
}

/**
 * @param {string} text
 * @returns {Array<[string, LockedPackage]>}
 */
function entries(text) {
  return Object.entries(JSON.parse(text).packages ?? {});
}

/**
 * @param {string} text
 * @returns {Array<[string, LockedPackage]>}
 */
function entriesOrNone(text) {
  try {
    return entries(text);
  } catch {
    return []; // cut short by a crash
  }
}

/**
 * @param {LockedPackage} entry
 * @param {Machine} machine
 */
function applies(entry, machine) {
  if (!allows(entry.os, machine.os) || !allows(entry.cpu, machine.cpu)) return false;
  // npm takes a package that names a libc for Linux only.
  return entry.libc === undefined || (machine.libc !== undefined && allows(entry.libc, machine.libc));
}

/**
 * npm's rule for `os`, `cpu` and `libc`: names that are allowed, or `!name` for those that are not.
 *
 * @param {string | string[] | undefined} rule
 * @param {string} value
 */
function allows(rule, value) {
  const names = rule === undefined ? [] : [rule].flat();
  if (names.includes(`!${value}`)) return false;
  const wanted = names.filter((name) => !name.startsWith('!'));
  return wanted.length === 0 || wanted.includes(value) || wanted.includes('any');
}

/**
 * Whether some locked package that applies here is not installed as locked, whoever installed what is there.
 *
 * @param {Where} where
 * @returns {boolean}
 */
export function packagesAreStale(where) {
  return stalePackages(where).length > 0;
}

/**
 * @param {Where} where
 * @returns {Missing[]}
 */
export function stalePackages({ root, dev }) {
  const lockText = read(join(root, LOCK));
  // Railhead installed as a package of something else has no lock file of its own: npm has done all there is.
  if (lockText === undefined) return [];
  const options = { dev, os: process.platform, cpu: process.arch, libc: libc() };
  /** @type {Missing[]} */
  let missing;
  /** @type {Missing[]} */
  let all;
  try {
    missing = missingPackages(lockText, read(join(root, INSTALLED)), options);
    all = missingPackages(lockText, undefined, options);
  } catch (error) {
    throw new Error(
      `${join(root, LOCK)} is no JSON (${errorText(error).replace(/\s+/g, ' ')}): restore it with git checkout.`,
    );
  }
  // What npm's own record says is there may have been deleted since.
  const listed = new Set(missing.map(({ path }) => path));
  const gone = all.filter(({ path }) => !listed.has(path) && !existsSync(join(root, path, 'package.json')));
  const unavailable = unavailablePackages(root, lockText);
  return [...missing.filter(({ path, optional }) => !(optional && unavailable.has(path))), ...gone];
}

/**
 * Remembers what npm left out, so that it isn't asked for again.
 *
 * @param {string} root
 * @param {Missing[]} missing
 * @param {string} nodeVersion of the Node that ran npm
 */
export function noteUnavailable(root, missing, nodeVersion) {
  const lockText = read(join(root, LOCK)) ?? '';
  const packages = missing.map(({ path }) => path);
  const note = { for: fingerprint(lockText, nodeVersion), packages };
  writeFileSync(join(root, UNAVAILABLE), `${JSON.stringify(note)}\n`);
}

/**
 * @param {string} root
 * @param {string} lockText
 * @returns {Set<string>}
 */
function unavailablePackages(root, lockText) {
  try {
    const noted = JSON.parse(read(join(root, UNAVAILABLE)) ?? '{}');
    return new Set(noted.for === fingerprint(lockText, versionForNpm(root)) ? noted.packages : []);
  } catch {
    return new Set();
  }
}

/**
 * Which packages npm can install is only known for one lock file, one kind of machine and one Node: npm leaves out
 * optional packages whose `engines` don't fit the Node that runs it.
 *
 * @param {string} lockText
 * @param {string} nodeVersion
 */
function fingerprint(lockText, nodeVersion) {
  const lock = createHash('sha256').update(lockText).digest('hex');
  return [process.platform, process.arch, nodeVersion, lock].join('-');
}
