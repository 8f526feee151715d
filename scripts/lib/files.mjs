// Small things about files and errors that every set-up script needs.
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/**
 * @param {string} path
 * @returns {string | undefined}
 */
export function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** How files begin that were being written when somebody pulled the plug. */
export const UNFINISHED = '.railhead-unfinished-';

/**
 * The old file or the new one, never a part of it, whatever happens.
 *
 * @param {string} path
 * @param {string | Uint8Array} data
 */
export function writeWhole(path, data) {
  mkdirSync(dirname(path), { recursive: true });
  const unfinished = join(dirname(path), `${UNFINISHED}${process.pid}-${basename(path)}`);
  const file = openSync(unfinished, 'w', 0o644);
  try {
    writeFileSync(file, data);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(unfinished, path);
}

/** @param {unknown} error */
export function errorCode(error) {
  return String(/** @type {NodeJS.ErrnoException} */ (error)?.code ?? '');
}

/** @param {unknown} error */
export function errorText(error) {
  return error instanceof Error ? error.message : String(error);
}

/** @param {string} line */
export function say(line) {
  process.stderr.write(`${line}\n`);
}
