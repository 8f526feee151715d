// apt's package lists for the parts that tests fetch. All parts and all runs share them: they are refreshed once
// in some hours, not for every part, so asking for the newest version costs next to nothing.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from './cache.mjs';
import { aptSettings, HANDS_OFF, hasApt, privateLists, privateSources, refresh } from './debian.mjs';
import { errorText, read, writeWhole } from './files.mjs';
import { noteForRun } from './run-notes.mjs';
import { holdSetupLock } from './setup-lock.mjs';

const FRESH_MS = 6 * 3_600_000;
/** After a failure: soon enough for the next run, and not again for every part of this one. */
const SOON_MS = 10 * 60_000;
/** What was fetched before will do: no reason to wait long for a mirror that does not answer. */
const IMPATIENT = aptSettings({
  'Acquire::Retries': '1',
  'Acquire::http::Timeout': '15',
  'Acquire::https::Timeout': '15',
});

/** @typedef {(line: string) => void} Log */
/** @typedef {{ tried: number, refreshed: number, failed?: string }} State times in milliseconds; 0: never */

/**
 * @typedef {object} PackageLists
 * @property {number} refreshed when they last were: what apt offers does not change in between
 * @property {() => Promise<string[]>} options what makes apt-get use them
 */

/**
 * Lists that are fresh; old ones, after one loud line, when no mirror can be reached.
 *
 * @param {string} name says which sources they are of
 * @param {() => Promise<string[] | undefined>} sources lines for sources.list; undefined: the machine's own
 * @param {{ log: Log, since?: number }} options since: refresh them unless they were after this time
 * @returns {Promise<PackageLists>}
 */
export async function packageLists(name, sources, { log, since = 0 }) {
  const folder = join(cacheFolder(), 'apt', name);
  const options = async () => {
    const lines = await sources();
    return [
      ...HANDS_OFF,
      ...privateLists(folder),
      ...(lines === undefined ? [] : privateSources(folder, lines)),
    ];
  };
  const due = () => isDue(stateOf(folder), since);
  if (due()) {
    mkdirSync(folder, { recursive: true });
    const lock = await holdSetupLock(`${folder}.lock`, 'reading package lists', due);
    try {
      if (lock && due()) await update(folder, options, log);
    } finally {
      lock?.release();
    }
  }
  const { refreshed, failed } = stateOf(folder);
  if (failed !== undefined) {
    if (refreshed === 0) throw new Error(failed);
    warnOnce(`PACKAGE LISTS MAY BE OLD (${name}): ${failed}`, log);
  }
  return { refreshed, options };
}

/**
 * @param {State} state
 * @param {number} since
 */
function isDue({ tried, refreshed, failed }, since) {
  // Also when the clock was wrong, and tells an earlier time now.
  return Math.abs(Date.now() - tried) > (failed !== undefined || refreshed <= since ? SOON_MS : FRESH_MS);
}

/**
 * @param {string} folder
 * @param {() => Promise<string[]>} options
 * @param {Log} log
 */
async function update(folder, options, log) {
  const { refreshed } = stateOf(folder);
  try {
    if (!(await hasApt())) throw new Error('this system has no apt-get');
    const unfetched = await refresh([...(await options()), ...IMPATIENT]);
    // One of several sources, mostly of somebody else than Debian.
    if (unfetched !== undefined) log(`apt-get update could not read every package list: ${unfetched}`);
    writeState(folder, { tried: Date.now(), refreshed: Date.now() });
  } catch (error) {
    writeState(folder, { tried: Date.now(), refreshed, failed: errorText(error) });
  }
}

/** @param {string} folder */
function stateFile(folder) {
  return join(folder, 'state.json');
}

/**
 * @param {string} folder
 * @returns {State}
 */
function stateOf(folder) {
  return JSON.parse(read(stateFile(folder)) ?? '{"tried":0,"refreshed":0}');
}

/**
 * @param {string} folder
 * @param {State} state
 */
function writeState(folder, state) {
  writeWhole(stateFile(folder), JSON.stringify(state));
}

/** @type {Set<string>} */
const warned = new Set();

/**
 * @param {string} line
 * @param {Log} log
 */
function warnOnce(line, log) {
  if (warned.has(line)) return;
  warned.add(line);
  log(`${line}. What was fetched before is used.`);
  noteForRun('version', line);
}
