// Boot loaders from Debian packages, unpacked and kept in the cache: a folder for each set of packages, with the
// files under their names in boot/ and a note of where they came from.
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { folders, newestFirst } from '../cache.mjs';
import { unpack } from '../debian.mjs';
import { errorCode } from '../files.mjs';
import { findLoader } from './folders.mjs';
import { hashOf } from './manifest.mjs';

/** @typedef {import('./table.mjs').Group} Group */
/** @typedef {import('./supply.mjs').Supply} Supply */
/** @typedef {{ source: string, files: Array<{ file: string, sha256: string, package: string, version: string }> }} Note */

const NOTE = '.railhead-set.json';

/**
 * @param {string} cache
 * @param {Group} group
 * @returns {Supply[]} newest first
 */
export function suppliesOfCache(cache, group) {
  return newestFirst(folders(join(cache, group.name))).flatMap((folder) => {
    const supply = readSet(folder);
    return supply === undefined ? [] : [supply];
  });
}

/**
 * @param {string} folder
 * @returns {Supply | undefined} undefined unless all is as it was when it was put there
 */
function readSet(folder) {
  /** @type {Note} */
  let note;
  try {
    note = JSON.parse(readFileSync(join(folder, NOTE), 'utf8'));
  } catch {
    return undefined;
  }
  const items = note.files.map(({ file, ...item }) => ({ file, ...item, path: join(folder, file) }));
  if (items.some(({ path, sha256 }) => hashOf(path) !== sha256)) return undefined;
  return { source: note.source, items: new Map(items.map(({ file, ...item }) => [file, item])) };
}

/**
 * Takes a group's files out of packages and puts them into the cache.
 *
 * @param {string} cache
 * @param {Group} group
 * @param {import('./apt.mjs').Fetched} fetched
 * @param {string} temp on the cache's disk
 * @returns {Promise<Supply | undefined>}
 */
export async function keep(cache, group, { source, debs }, temp) {
  const set = join(temp, 'set');
  mkdirSync(set, { recursive: true });
  /** @type {Note} */
  const note = { source, files: [] };
  for (const { name, version, path } of debs) {
    const tree = join(temp, name);
    await unpack(path, tree);
    for (const loader of group.loaders) {
      const found = findLoader(tree, loader);
      if (found === undefined || note.files.some(({ file }) => file === loader.file)) continue;
      const place = join(set, loader.file);
      mkdirSync(dirname(place), { recursive: true });
      copyFileSync(found.path, place);
      note.files.push({ file: loader.file, sha256: found.sha256, package: name, version });
    }
  }
  if (note.files.length === 0)
    throw new Error(`none of its files is in ${debs.map(({ name }) => name).join(', ')}`);
  writeFileSync(join(set, NOTE), `${JSON.stringify(note, null, 2)}\n`);
  const name = debs.map(({ name, version, arch }) => `${name}_${version}_${arch}`).join('__');
  const place = join(cache, group.name, name.replaceAll(/[^\w.+~-]/g, '_'));
  moveInto(set, place);
  return readSet(place);
}

/**
 * @param {string} set
 * @param {string} place
 */
function moveInto(set, place) {
  mkdirSync(dirname(place), { recursive: true });
  // One that is there and damaged is of no use to anybody; a sound one has the same content.
  if (readSet(place) === undefined) rmSync(place, { recursive: true, force: true });
  try {
    renameSync(set, place);
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes(errorCode(error))) throw error;
  }
}
