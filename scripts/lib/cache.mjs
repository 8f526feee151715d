// Where downloads are kept: outside the checkout, so that every checkout and a fresh clone has them.
//
//   RAILHEAD_CACHE=DIR   another place
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const TEMPORARY = '.tmp-';
/** Longer than any download may take: what is older was left by one that was killed. */
const ABANDONED_MS = 2 * 3_600_000;

export function cacheFolder() {
  const { RAILHEAD_CACHE, XDG_CACHE_HOME } = process.env;
  if (RAILHEAD_CACHE) return RAILHEAD_CACHE;
  if (process.getuid?.() === 0) return '/var/cache/railhead';
  return join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'railhead');
}

/**
 * Gives `work` a temporary folder inside `parent`: what is finished there is renamed to its place, in one step.
 * The folder is removed at the end, also when a signal ends us.
 *
 * @template T
 * @param {string} parent
 * @param {(temp: string) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withTempFolder(parent, work) {
  sweep(parent);
  const temp = mkdtempSync(join(parent, TEMPORARY));
  const remove = () => rmSync(temp, { recursive: true, force: true, maxRetries: 3 });
  const stop = (/** @type {NodeJS.Signals} */ signal) => {
    remove();
    // Nobody else may listen for it: end the way the signal asks for.
    process.off(signal, stop);
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  };
  /** @type {NodeJS.Signals[]} */
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, stop);
  try {
    return await work(temp);
  } finally {
    for (const signal of signals) process.off(signal, stop);
    remove();
  }
}

/**
 * Removes what downloads that were killed have left.
 *
 * @param {string} parent
 */
function sweep(parent) {
  for (const name of readdirSync(parent)) {
    const path = join(parent, name);
    if (!name.startsWith(TEMPORARY)) continue;
    const since = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (since < Date.now() - ABANDONED_MS) {
      rmSync(path, { recursive: true, force: true });
    }
  }
}

/**
 * @param {string} path
 * @returns {string[]} the folders in it, full paths; temporary ones excepted
 */
export function folders(path) {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map((entry) => join(path, entry.name));
  } catch {
    return [];
  }
}

/** @param {string[]} paths ending in versions */
export function newestFirst(paths) {
  return paths.sort((a, b) => b.localeCompare(a, 'en', { numeric: true }));
}
