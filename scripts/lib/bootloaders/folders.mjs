// Boot loaders that are on this system already: in folders of distributions' packages, or in an unpacked one.
import { lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { efiArch } from './efi.mjs';
import { sha256 } from './manifest.mjs';
import { packagesOwning } from './owner.mjs';

/**
 * @param {string} root '/' or an unpacked tree
 * @param {import('./table.mjs').Loader} loader
 * @returns {{ path: string, sha256: string } | undefined} the best one that is there and fits
 */
export function findLoader(root, { from, arch }) {
  for (const name of from) {
    const path = followLinks(root, join(root, name));
    const data = path === undefined ? undefined : readData(path);
    if (path === undefined || data === undefined || data.length === 0) continue;
    if (arch === undefined || efiArch(data) === arch) return { path, sha256: sha256(data) };
  }
  return undefined;
}

/**
 * Links in a package are meant for the system that it will be installed on.
 *
 * @param {string} root
 * @param {string} path
 * @returns {string | undefined}
 */
function followLinks(root, path) {
  let at = path;
  for (let links = 0; links < 8; links++) {
    const entry = lstatSync(at, { throwIfNoEntry: false });
    if (!entry?.isSymbolicLink()) return entry?.isFile() ? at : undefined;
    const target = readlinkSync(at);
    at = target.startsWith('/') ? join(root, target) : resolve(dirname(at), target);
  }
  return undefined;
}

/** @param {string} path */
function readData(path) {
  try {
    return readFileSync(path);
  } catch {
    return undefined; // the EFI partition is for root only
  }
}

/**
 * @param {import('./table.mjs').Group} group
 * @returns {Promise<import('./supply.mjs').Supply>}
 */
export async function supplyOfSystem(group) {
  const found = group.loaders.flatMap((loader) => {
    const there = findLoader('/', loader);
    return there === undefined ? [] : [{ file: loader.file, ...there }];
  });
  const owners = await packagesOwning(found.map(({ path }) => path));
  return {
    source: 'this system',
    items: new Map(
      found.map(({ file, path, sha256 }) => {
        const owner = owners.get(path) ?? { package: dirname(path), version: 'unknown' };
        return [file, { path, sha256, ...owner }];
      }),
    ),
  };
}
