// Debian packages by the machine's own apt, without touching the system: no locks, no package cache, no change
// of user, so nobody has to be root. Which mirror is used is the machine's own choice.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { writeWhole } from './files.mjs';
import { run, succeeds } from './run.mjs';

/** @typedef {{ signal?: AbortSignal | undefined }} Stoppable */

/**
 * @typedef {object} Release a Debian release (or that of another distribution) that apt has a package list of
 * @property {string} origin 'Debian', 'Ubuntu' …
 * @property {string} codename 'trixie', 'trixie-updates' …
 * @property {string} suite 'stable', 'stable-updates' …
 * @property {string} component 'main' …
 * @property {string} uri the mirror
 */

/**
 * @param {Record<string, string>} values
 * @returns {string[]} options for apt-get
 */
export function aptSettings(values) {
  return Object.entries(values).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
}

/** Options that keep apt from touching the system. */
export const HANDS_OFF = aptSettings({
  'Debug::NoLocking': '1',
  'APT::Sandbox::User': 'root',
  'Acquire::Languages': 'none',
  'Acquire::Retries': '2',
  'Acquire::http::Timeout': '30',
  'Acquire::https::Timeout': '30',
  // Descriptions of desktop programs: as long as half the package list.
  'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled': 'false',
  'Dir::Cache::pkgcache': '',
  'Dir::Cache::srcpkgcache': '',
});

export function hasApt() {
  return succeeds('apt-get', '--version');
}

/**
 * Options for package lists of our own: for machines that have none, or old ones.
 *
 * @param {string} folder
 * @returns {string[]}
 */
export function privateLists(folder) {
  const lists = join(folder, 'lists');
  mkdirSync(join(lists, 'partial'), { recursive: true });
  return aptSettings({
    'Dir::State::lists': lists,
    'Dir::Cache': folder,
    'Dir::Cache::pkgcache': join(folder, 'pkgcache.bin'),
  });
}

/**
 * Options for these sources in place of the machine's.
 *
 * @param {string} folder
 * @param {string[]} lines
 * @returns {string[]}
 */
export function privateSources(folder, lines) {
  const list = join(folder, 'sources.list');
  // Another process may read it right now.
  writeWhole(list, lines.map((line) => `${line}\n`).join(''));
  return aptSettings({
    'Dir::Etc::sourcelist': list,
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::Etc::preferences': '/dev/null',
    'Dir::Etc::preferencesparts': '/dev/null',
  });
}

/**
 * @param {{ uri: string, suite: string, arch?: string | undefined }} source
 * @returns {string} a line for sources.list
 */
export function debianSource({ uri, suite, arch }) {
  const keys = '/usr/share/keyrings/debian-archive-keyring.gpg';
  const options = [
    ...(existsSync(keys) ? [`signed-by=${keys}`] : []),
    ...(arch === undefined ? [] : [`arch=${arch}`]),
  ];
  return `deb ${options.length > 0 ? `[${options.join(' ')}] ` : ''}${uri} ${suite} main`;
}

const RELEASE_FORMAT = '$(CREATED_BY)|$(ORIGIN)|$(COMPONENT)|$(CODENAME)|$(SUITE)|$(REPO_URI)';

/**
 * The releases that apt has package lists of. None on a machine that never ran `apt-get update`.
 *
 * @param {string[]} options
 * @returns {Promise<Release[]>}
 */
export async function aptReleases(options) {
  const { out } = await run('apt-get', ['indextargets', '--format', RELEASE_FORMAT, ...options], {
    seconds: 60,
  });
  return parseReleases(out);
}

/**
 * @param {string} text what `apt-get indextargets` prints in RELEASE_FORMAT
 * @returns {Release[]}
 */
export function parseReleases(text) {
  return text
    .split('\n')
    .map((line) => line.split('|'))
    .filter(([createdBy, , , , , uri]) => createdBy === 'Packages' && uri)
    .map(([, origin = '', component = '', codename = '', suite = '', uri = '']) => ({
      origin,
      component,
      codename,
      suite,
      uri,
    }));
}

/**
 * The mirror this machine has Debian from.
 *
 * @param {Release[]} releases
 * @returns {Release | undefined}
 */
export function debianMirror(releases) {
  // Updates and security fixes have a dash in their names, and may come from elsewhere.
  return releases.find(
    ({ origin, component, codename }) =>
      origin === 'Debian' && component === 'main' && !codename.includes('-'),
  );
}

/**
 * @param {string[]} options
 * @param {Stoppable} [stoppable]
 * @returns {Promise<string | undefined>} what could not be fetched, when a list of some other source could. How apt-get
 *   ends tells little: without a network it succeeds, and one source with an unknown key makes it fail.
 */
export async function refresh(options, { signal } = {}) {
  const { code, out, err } = await run('apt-get', ['-q', ...options, 'update'], { seconds: 300, signal });
  if (code === 0 && !/Failed to fetch/.test(err)) return undefined;
  if (!/^(Hit|Get):/m.test(out)) throw new Error(`apt-get update failed: ${firstError(err)}`);
  return firstError(err);
}

/**
 * @param {string} deb
 * @param {string} tree
 */
export async function unpack(deb, tree) {
  mkdirSync(tree, { recursive: true });
  const { code, err } = await run('dpkg-deb', ['-x', deb, tree], { seconds: 300 });
  if (code !== 0) throw new Error(`${deb} could not be unpacked: ${err.trim()}`);
}

/** How apt-get says that a mirror does not answer. What it says besides only follows from that. */
export const NO_ANSWER =
  /could not resolve|failure resolving|could not connect|unable to connect|cannot initiate the connection|connection (timed out|failed|refused)|network is unreachable|no route to host/i;

/**
 * @param {string} text what apt-get said
 * @returns {string} the line that tells most
 */
export function firstError(text) {
  const lines = text.split('\n').filter(Boolean);
  const line =
    lines.find((one) => NO_ANSWER.test(one)) ??
    lines.find((one) => one.startsWith('E:')) ??
    lines[0] ??
    'no reason given';
  return line.replace(/^[EW]: (Failed to fetch \S+\s+)?/, '').trim();
}

/**
 * dpkg's record cut down to the packages that every Debian has, and what those depend on. Pure.
 *
 * @param {string} text /var/lib/dpkg/status
 */
export function minimalStatus(text) {
  const records = text.split(/\n\n+/).filter((record) => /^Status: .* installed$/m.test(record));
  /** @param {string} record @param {string} name */
  const field = (record, name) => new RegExp(`^${name}: (.*)$`, 'm').exec(record)?.[1] ?? '';
  /** @param {string} value names in a relation, without versions and architectures */
  const names = (value) =>
    value
      .split(/[,|]/)
      .map((one) => one.trim().replace(/[\s:(].*$/, ''))
      .filter(Boolean);
  /** @type {Map<string, string[]>} */
  const providers = new Map();
  for (const record of records) {
    for (const name of [field(record, 'Package'), ...names(field(record, 'Provides'))]) {
      providers.set(name, [...(providers.get(name) ?? []), record]);
    }
  }
  const queue = records.filter(
    (record) => field(record, 'Essential') === 'yes' || field(record, 'Priority') === 'required',
  );
  const keep = new Set(queue);
  for (let record = queue.pop(); record !== undefined; record = queue.pop()) {
    for (const name of names(`${field(record, 'Pre-Depends')},${field(record, 'Depends')}`)) {
      for (const provider of providers.get(name) ?? []) {
        if (keep.has(provider)) continue;
        keep.add(provider);
        queue.push(provider);
      }
    }
  }
  return records
    .filter((record) => keep.has(record))
    .map((record) => `${record}\n\n`)
    .join('');
}
