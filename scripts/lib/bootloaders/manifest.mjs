// What was put into boot/, from where, and with which hash: so that a file of the user's own is never taken for
// one of ours.
import { createHash } from 'node:crypto';
import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { read, writeWhole } from '../files.mjs';

export const MANIFEST = '.railhead-bootloaders.json';

/**
 * @typedef {object} Entry
 * @property {string} file
 * @property {string} sha256
 * @property {string} package
 * @property {string} version
 * @property {string} source
 * @property {string} [before] the hash of the file that is being replaced: gone from the manifest once it is
 */

/**
 * absent: not there. intact: as we put it there. behind: ours, but its replacement was interrupted.
 * own: somebody else's, or changed since.
 *
 * @typedef {'absent' | 'intact' | 'behind' | 'own'} State
 */

/**
 * @param {Entry | undefined} entry
 * @param {string | undefined} hash of the file that is there
 * @returns {State}
 */
export function stateOf(entry, hash) {
  if (hash === undefined) return 'absent';
  if (hash === entry?.sha256) return 'intact';
  return entry?.before === hash ? 'behind' : 'own';
}

/** @param {Uint8Array} data */
export function sha256(data) {
  return createHash('sha256').update(data).digest('hex');
}

/** In place of the hash of something that can't be read: a folder, a link to nowhere, a file of another user. */
const UNREADABLE = 'unreadable';

/**
 * @param {string} path
 * @returns {string | undefined} undefined when there is nothing of that name, or nothing in it
 */
export function hashOf(path) {
  try {
    const data = readFileSync(path);
    return data.length === 0 ? undefined : sha256(data);
  } catch {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined ? undefined : UNREADABLE;
  }
}

/**
 * @param {string | undefined} text
 * @returns {Map<string, Entry>}
 */
export function parseManifest(text) {
  try {
    const { files } = JSON.parse(text ?? '{}');
    return new Map((files ?? []).map((/** @type {Entry} */ entry) => [entry.file, entry]));
  } catch {
    return new Map(); // not ours, or damaged: then nothing in the folder is ours
  }
}

/** @param {Map<string, Entry>} entries */
export function formatManifest(entries) {
  const files = [...entries.values()].sort((a, b) => (a.file < b.file ? -1 : 1));
  return `${JSON.stringify({ about: 'Written by `npm run bootloaders`. These files may be replaced by it.', files }, null, 2)}\n`;
}

/** @param {string} bootDir */
export function readManifest(bootDir) {
  return parseManifest(read(join(bootDir, MANIFEST)));
}

/**
 * @param {string} bootDir
 * @param {Map<string, Entry>} entries
 */
export function writeManifest(bootDir, entries) {
  const text = formatManifest(entries);
  if (entries.size === 0) return;
  if (text !== read(join(bootDir, MANIFEST))) writeWhole(join(bootDir, MANIFEST), text);
}
