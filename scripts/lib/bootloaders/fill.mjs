// Fills boot/ with the boot loaders. What is there and intact stays as it is, and so does every file that somebody
// else has put there.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { cacheFolder, withTempFolder } from '../cache.mjs';
import { hasApt } from '../debian.mjs';
import { errorCode, errorText, UNFINISHED, writeWhole } from '../files.mjs';
import { holdSetupLock } from '../setup-lock.mjs';
import { Apt } from './apt.mjs';
import { supplyOfSystem } from './folders.mjs';
import { hashOf, readManifest, sha256, stateOf, writeManifest } from './manifest.mjs';
import { keep, suppliesOfCache } from './packages.mjs';
import { plan } from './plan.mjs';
import { sayOnce } from './report.mjs';
import { choose, suffices } from './supply.mjs';
import { GROUPS } from './table.mjs';

/** @typedef {import('./table.mjs').Group} Group */
/** @typedef {import('./table.mjs').Loader} Loader */
/** @typedef {import('./manifest.mjs').Entry} Entry */
/** @typedef {import('./manifest.mjs').State} State */
/** @typedef {import('./supply.mjs').Supply} Supply */

/**
 * @typedef {object} FillOptions
 * @property {string} bootDir
 * @property {(line: string) => void} log
 * @property {boolean} [update] look for newer ones
 * @property {boolean} [apt] false: fetch nothing
 * @property {AbortSignal} [signal] when to give up
 * @property {string} [cache] where what was fetched is kept
 */

/**
 * @typedef {object} Row how it is with one boot loader
 * @property {Loader} loader
 * @property {Group} group
 * @property {State} state
 * @property {string | undefined} hash of the file that is there
 * @property {Entry | undefined} entry
 * @property {boolean} written just now
 * @property {string | undefined} reason why it could not be had
 */

const LOCK = '.railhead-bootloaders.lock';

/**
 * @param {FillOptions} options
 * @returns {Promise<Row[]>}
 */
export async function fillBootFolder(options) {
  const { bootDir, update = false } = options;
  const rows = survey(bootDir);
  const complete = !update && !rows.some(isMissing);
  if (complete && !rows.every(isUnknown)) return rows;
  try {
    return await fillLocked(options);
  } catch (error) {
    // Only the manifest was lost, and can't be had again.
    if (complete) return rows;
    if (!['EACCES', 'EPERM', 'EROFS'].includes(errorCode(error))) throw error;
    throw new Error(`There is no right to write to ${bootDir} (${errorText(error)}).`);
  }
}

/**
 * @param {FillOptions} options
 * @returns {Promise<Row[]>}
 */
async function fillLocked(options) {
  const { bootDir } = options;
  mkdirSync(bootDir, { recursive: true });
  const lock = await holdSetupLock(join(bootDir, LOCK), 'getting boot loaders', () => true);
  try {
    removeUnfinished(bootDir);
    return await fill(options);
  } finally {
    lock?.release();
  }
}

/** @param {Row} row */
function isMissing({ state }) {
  return state === 'absent' || state === 'behind';
}

/** @param {Row} row whether it may be one of ours that we have no record of */
function isUnknown({ state, entry }) {
  return state === 'own' && entry === undefined;
}

/**
 * @param {string} bootDir
 * @returns {Row[]}
 */
function survey(bootDir) {
  const manifest = readManifest(bootDir);
  return GROUPS.flatMap((group) =>
    group.loaders.map((loader) => {
      const entry = manifest.get(loader.file);
      const hash = hashOf(join(bootDir, loader.file));
      return { loader, group, state: stateOf(entry, hash), hash, entry, written: false, reason: undefined };
    }),
  );
}

/**
 * Left by one that was killed while it wrote. Nobody else writes while we hold the lock.
 *
 * @param {string} bootDir
 */
function removeUnfinished(bootDir) {
  for (const folder of new Set(GROUPS.flatMap(({ loaders }) => loaders.map(({ file }) => dirname(file))))) {
    const path = join(bootDir, folder);
    for (const name of list(path)) {
      if (name.startsWith(UNFINISHED)) rmSync(join(path, name), { force: true });
    }
  }
}

/** @param {string} folder */
function list(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/**
 * @param {FillOptions} options
 * @returns {Promise<Row[]>}
 */
async function fill({ bootDir, log, update = false, apt = true, signal, cache: kept }) {
  const before = survey(bootDir);
  const has = (/** @type {Group} */ group, /** @type {(row: Row) => boolean} */ test) =>
    before.some((row) => row.group === group && test(row));
  /** @type {Map<Group, string>} */
  const reasons = new Map();
  /** @type {Set<string>} */
  const written = new Set();
  await withCache(kept ?? join(cacheFolder(), 'bootloaders'), async (cache, temp) => {
    const shop = apt && (await hasApt()) ? new Apt({ temp, log, signal }) : undefined;
    const noApt = apt ? 'this system has no apt-get' : 'RAILHEAD_NO_APT is set';
    const results = await Promise.allSettled(
      GROUPS.map(async (group) => {
        const wanted = update || has(group, isMissing);
        if (!wanted && !has(group, isUnknown)) return;
        const { supplies, said } = await collect(group, {
          cache,
          temp,
          shop: wanted ? shop : undefined,
          update,
        });
        reasons.set(group, shop === undefined ? noApt : sayOnce(said));
        const rows = before.filter((row) => row.group === group);
        for (const file of install(bootDir, group, rows, choose(group, supplies))) written.add(file);
      }),
    );
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  });
  return survey(bootDir).map((row) => ({
    ...row,
    written: written.has(row.loader.file),
    reason: row.state === 'absent' ? reasons.get(row.group) : undefined,
  }));
}

/**
 * The cache, or a temporary folder where it can't be written: it only saves work.
 *
 * @param {string} cache
 * @param {(cache: string, temp: string) => Promise<void>} work
 */
async function withCache(cache, work) {
  try {
    mkdirSync(cache, { recursive: true });
    rmSync(mkdtempSync(join(cache, '.tmp-')), { recursive: true });
  } catch {
    return withTempFolder(tmpdir(), (temp) => work(join(temp, 'cache'), temp));
  }
  return withTempFolder(cache, (temp) => work(cache, temp));
}

/**
 * Everything there is of a group, best first. Looks no further than it has to.
 *
 * @param {Group} group
 * @param {{ cache: string, temp: string, shop: Apt | undefined, update: boolean }} where
 * @returns {Promise<{ supplies: Supply[], said: string[] }>}
 */
async function collect(group, { cache, temp, shop, update }) {
  const cached = suppliesOfCache(cache, group);
  if (!update && suffices(group, cached)) return { supplies: cached, said: [] };
  /** @type {Supply[]} */
  const fetched = [];
  /** @type {string[]} */
  const said = [];
  const ways = await Promise.resolve(shop?.ways(group) ?? []).catch((error) => {
    said.push(oneLine(error));
    return [];
  });
  for (const [index, { name, fetch }] of ways.entries()) {
    if (suffices(group, fetched)) break;
    const work = join(temp, `${group.name}-${index}`);
    try {
      const supply = await keep(cache, group, await fetch(group, join(work, 'debs')), work);
      if (supply) fetched.push({ ...supply, fresh: true });
    } catch (error) {
      said.push(`${name}: ${oneLine(error)}`);
    }
  }
  const supplies = [...fetched, ...cached];
  if (!suffices(group, supplies)) supplies.push(await supplyOfSystem(group));
  return { supplies, said };
}

/** @param {unknown} error */
function oneLine(error) {
  return errorText(error)
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ')
    .replace(/\.$/, '');
}

/**
 * Writes what is missing, and what is ours and has to go along with it. The manifest is written first: whatever
 * happens then, a file of ours is never taken for one of the user's.
 *
 * @param {string} bootDir
 * @param {Group} group
 * @param {Row[]} rows
 * @param {ReturnType<typeof choose>} chosen
 * @returns {string[]} the files
 */
function install(bootDir, group, rows, chosen) {
  const manifest = readManifest(bootDir);
  const { adopt, write } = plan(group, rows, chosen);
  for (const entry of [...adopt, ...write]) manifest.set(entry.file, entry);
  writeManifest(bootDir, manifest);
  for (const { file, sha256: expected } of write) {
    const { path } = /** @type {import('./supply.mjs').Chosen} */ (chosen.get(file));
    const data = readFileSync(path);
    if (sha256(data) !== expected) throw new Error(`${path} changed while it was copied`);
    writeWhole(join(bootDir, file), data);
  }
  const intact = rows.filter(({ state }) => state === 'intact').map(({ loader }) => loader.file);
  for (const file of [...intact, ...write.map((entry) => entry.file)]) {
    const { before: _, ...entry } = /** @type {Entry} */ (manifest.get(file));
    manifest.set(file, entry);
  }
  writeManifest(bootDir, manifest);
  return write.map(({ file }) => file);
}
