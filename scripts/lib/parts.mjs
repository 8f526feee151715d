// Real programs that the tests run against: PostgreSQL and the like. What the system has is used; what it
// lacks comes from Debian's archive, by the machine's own apt, unpacked into a cache outside the checkout:
// nothing is installed, no service starts, and it works without being root.
//
//   RAILHEAD_CACHE=DIR       where unpacked parts are kept
//   RAILHEAD_NO_APT=1        fetch nothing
//   RAILHEAD_PARTS=unpacked  pretend that the system has none of them (and is a minimal Debian)
import { spawn } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

/**
 * @typedef {object} Part something to run
 * @property {string} path the program, or the folder of its programs (see the table)
 * @property {Record<string, string>} env what its processes need in their environment
 * @property {string} version
 * @property {'system' | 'unpacked' | 'installed'} source
 */

/**
 * @typedef {object} PartSpec
 * @property {string} what its name for a person
 * @property {string} why what needs it
 * @property {string[]} packages Debian packages to ask for
 * @property {string} [suite] the Debian release to take them from, when the machine's own has none that fits
 * @property {RegExp} main the package whose version names the cached folder
 * @property {RegExp} [skip] packages of the dependency closure that it runs without
 * @property {true} [install] it can't run unpacked and has to be installed for real
 * @property {(root: string) => string[]} find candidates for `path`, best first; root is '' for the system,
 *   else an unpacked tree
 * @property {(path: string) => [program: string, ...args: string[]]} probe prints the version and succeeds if
 *   the part can run
 * @property {RegExp} version the first group is the version, in what `probe` prints; no match: not usable
 */

/** @typedef {(line: string) => void} Log */

/** @satisfies {Record<string, PartSpec>} */
const PARTS = {
  /** path: the folder of initdb, postgres, psql … */
  postgres: {
    what: 'PostgreSQL',
    why: 'the store is tested on it',
    packages: ['postgresql'],
    main: /^postgresql-\d+$/,
    // The wrappers are Perl and for clusters of the system. Without LLVM there is no JIT: run with jit=off.
    skip: /^(postgresql|postgresql-(client-)?common|libllvm\S+|libz3-4)$/,
    find: (root) => [
      ...newestFirst(folders(join(root || '/', 'usr/lib/postgresql'))).map((version) => join(version, 'bin')),
      ...(root ? [] : onPath('initdb').map(dirname)),
    ],
    probe: (path) => [join(path, 'postgres'), '--version'],
    version: /PostgreSQL\) (\S+)/,
  },
  /** path: the plugin's program, which also runs by itself: `<path> -f docker-compose.yml config` */
  compose: {
    what: 'Docker Compose',
    why: 'docker-compose.yml is checked with it',
    packages: ['docker-compose'],
    suite: 'trixie', // the first with Compose 2
    main: /^docker-compose$/,
    find: (root) => [
      ...['usr/local/lib', 'usr/local/libexec', 'usr/lib', 'usr/libexec'].map((folder) =>
        join(root || '/', folder, 'docker/cli-plugins/docker-compose'),
      ),
      ...(root ? [] : [join(homedir(), '.docker/cli-plugins/docker-compose'), ...onPath('docker-compose')]),
    ],
    probe: (path) => [path, 'version', '--short'],
    version: /^v?((?:[2-9]|\d\d)\.\S+)/m, // Compose 1 is another program, in Python
  },
};

/** Only of use to an installed system: scripts of packages, accounts, Perl, files with a fixed place. */
const ONLY_INSTALLED =
  /^(adduser|debconf|dpkg|init-system-helpers|lib\S+-perl|libc-l10n|libpam-(modules|runtime)\S*|libperl\S+|locales|lsb-\S+|netbase|openssl|passwd|perl\S*|readline-common|sensible-utils|ssl-cert|sysvinit-utils|tzdata|ucf|usrmerge)$/;

/** Programs run with the system's own loader, which fits one C library only. */
const C_LIBRARY = /^(libc6|libc-bin)$/;

const POLICY = '/usr/sbin/policy-rc.d';
const POLICY_TEXT =
  '#!/bin/sh\n# Railhead: no service starts while packages are installed for tests.\nexit 101\n';

/**
 * Finds or fetches parts. One that can't be had is undefined, after one line that says so.
 *
 * @template {keyof typeof PARTS} Name
 * @param {Name[]} wanted
 * @param {{ log?: Log }} [options]
 * @returns {Promise<{ [name in Name]: Part | undefined }>}
 */
export async function ensureParts(wanted, { log = (line) => process.stderr.write(`${line}\n`) } = {}) {
  /** @type {Partial<{ [name in Name]: Part | undefined }>} */
  const parts = {};
  for (const name of wanted) parts[name] = await ensurePart(name, PARTS[name], log);
  return /** @type {{ [name in Name]: Part | undefined }} */ (parts);
}

/**
 * @param {string} name
 * @param {PartSpec} spec
 * @param {Log} log
 * @returns {Promise<Part | undefined>}
 */
async function ensurePart(name, spec, log) {
  const forced = process.env.RAILHEAD_PARTS === 'unpacked' && !spec.install;
  try {
    const there = forced ? undefined : await usable(spec, '', 'system');
    if (there) return there;
    const kept = join(cacheFolder(), 'parts', name);
    const cached = spec.install ? undefined : await firstUsable(spec, kept);
    if (cached) return cached;
    if (process.env.RAILHEAD_NO_APT === '1') throw new Error('RAILHEAD_NO_APT is set');
    if (!(await succeeds('apt-get', '--version'))) throw new Error('this system has no apt-get');
    if (spec.install) {
      await installDebianPackages(spec.packages, { log });
      const installed = await usable(spec, '', 'installed');
      if (installed) return installed;
      throw new Error(`it does not run although ${spec.packages.join(', ')} is installed`);
    }
    return await fetchPart(spec, kept, forced, log);
  } catch (error) {
    const why = (error instanceof Error ? error.message : String(error)).replace(/\s*\n\s*/g, ' ');
    const what = `SKIPPED: ${name}: no ${spec.what} (${spec.why}): ${why}`;
    log(`${what}. Install it (apt-get install ${spec.packages.join(' ')}) and run this again.`);
    return undefined;
  }
}

/**
 * @param {PartSpec} spec
 * @param {string} root '' or an unpacked tree
 * @param {Part['source']} source
 * @returns {Promise<Part | undefined>}
 */
async function usable(spec, root, source) {
  const libraries = root ? libraryFolders(root).join(delimiter) : '';
  /** @type {Record<string, string>} */
  const env = libraries ? { LD_LIBRARY_PATH: libraries } : {};
  for (const path of spec.find(root)) {
    const [program, ...args] = spec.probe(path);
    if (!isProgram(program)) continue;
    const { code, out } = await run(program, args, { env, seconds: 20 });
    const version = code === 0 ? spec.version.exec(out)?.[1] : undefined;
    if (version !== undefined) return { path, env, version, source };
  }
  return undefined;
}

/**
 * @param {PartSpec} spec
 * @param {string} kept
 */
async function firstUsable(spec, kept) {
  for (const root of newestFirst(folders(kept))) {
    const part = await usable(spec, root, 'unpacked');
    if (part) return part;
  }
  return undefined;
}

/**
 * Downloads what the system lacks and unpacks it beside its final place, then renames it: a folder that has
 * its name is complete.
 *
 * @param {PartSpec} spec
 * @param {string} kept
 * @param {boolean} forced
 * @param {Log} log
 * @returns {Promise<Part>}
 */
async function fetchPart(spec, kept, forced, log) {
  mkdirSync(kept, { recursive: true });
  sweep(kept);
  const temp = mkdtempSync(join(kept, '.tmp-'));
  try {
    const debs = join(temp, 'debs');
    const tree = join(temp, 'tree');
    mkdirSync(debs);
    mkdirSync(tree);
    const apt = await aptOptions(spec, temp, forced);
    const got = await downloadMissing(spec, apt, debs, log);
    for (const deb of readdirSync(debs)) {
      const { code, err } = await run('dpkg-deb', ['-x', join(debs, deb), tree], { seconds: 300 });
      if (code !== 0) throw new Error(`${deb} could not be unpacked: ${err.trim()}`);
    }
    if (!(await usable(spec, tree, 'unpacked'))) {
      throw new Error(`what was unpacked does not run: ${await complaint(spec, tree)}`);
    }
    chmodSync(tree, 0o755); // other users run it too
    const place = join(kept, got.replaceAll(/[^\w.+~-]/g, '_'));
    const part = await moveInto(spec, tree, place);
    if (!part) throw new Error(`what was unpacked does not run from ${place}`);
    return part;
  } finally {
    rmSync(temp, { recursive: true, force: true });
  }
}

/**
 * @param {PartSpec} spec
 * @param {string} tree
 * @param {string} place
 */
async function moveInto(spec, tree, place) {
  // One that is there and does not run is of no use to anybody; one that runs was unpacked at the same time.
  if (existsSync(place) && !(await usable(spec, place, 'unpacked'))) {
    rmSync(place, { recursive: true, force: true });
  }
  try {
    renameSync(tree, place);
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
  }
  return usable(spec, place, 'unpacked');
}

/**
 * What the programs say when they don't run.
 *
 * @param {PartSpec} spec
 * @param {string} root
 */
async function complaint(spec, root) {
  for (const path of spec.find(root)) {
    const [program, ...args] = spec.probe(path);
    if (!isProgram(program)) continue;
    const { out, err } = await run(program, args, {
      env: { LD_LIBRARY_PATH: libraryFolders(root).join(delimiter) },
      seconds: 20,
    });
    return (err || out).trim().split('\n')[0];
  }
  return 'its programs are not in the packages';
}

/**
 * Options that keep apt from touching the system: no locks, no package cache, no change of user.
 *
 * @param {PartSpec} spec
 * @param {string} temp
 * @param {boolean} forced
 * @returns {Promise<{ options: string[], refreshed: string[], mustRefresh: boolean }>}
 */
async function aptOptions(spec, temp, forced) {
  const options = settings({
    'Debug::NoLocking': '1',
    'APT::Sandbox::User': 'root',
    'Acquire::Languages': 'none',
    'Acquire::Retries': '2',
    'Acquire::http::Timeout': '30',
    'Acquire::https::Timeout': '30',
    'Dir::Cache::pkgcache': '',
    'Dir::Cache::srcpkgcache': '',
  });
  if (forced) {
    const status = join(temp, 'status');
    writeFileSync(status, minimalStatus(readFileSync('/var/lib/dpkg/status', 'utf8')));
    options.push(...settings({ 'Dir::State::status': status }));
  }
  const lists = join(temp, 'lists');
  mkdirSync(join(lists, 'partial'), { recursive: true });
  const refreshed = settings({ 'Dir::State::lists': lists, 'Dir::Cache': temp });
  const foreign =
    spec.suite === undefined ? undefined : await foreignSource(spec.suite, [...options, ...refreshed]);
  if (foreign !== undefined) {
    const list = join(temp, 'sources.list');
    writeFileSync(list, foreign);
    refreshed.push(...settings({ 'Dir::Etc::sourcelist': list, 'Dir::Etc::sourceparts': '/dev/null' }));
  }
  return { options, refreshed, mustRefresh: foreign !== undefined };
}

/** @param {Record<string, string>} values */
function settings(values) {
  return Object.entries(values).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
}

/**
 * A source for another Debian release on the mirror this machine is set up for; undefined when the machine
 * has that release already.
 *
 * @param {string} suite
 * @param {string[]} ownLists options for lists of our own, used when the machine has none
 */
async function foreignSource(suite, ownLists) {
  let mirrors = await debianMirrors([]);
  if (mirrors.length === 0) {
    await refresh(ownLists);
    mirrors = await debianMirrors(ownLists);
  }
  if (mirrors.some(({ codename }) => codename === suite)) return undefined;
  const mirror = mirrors.find(({ codename }) => !codename.includes('-'))?.uri;
  if (mirror === undefined) {
    throw new Error(`it is in Debian ${suite}, and this machine's apt knows no Debian mirror`);
  }
  const keys = '/usr/share/keyrings/debian-archive-keyring.gpg';
  return `deb ${existsSync(keys) ? `[signed-by=${keys}] ` : ''}${mirror} ${suite} main\n`;
}

/** @param {string[]} options */
async function debianMirrors(options) {
  const format = '$(CREATED_BY) $(ORIGIN) $(COMPONENT) $(CODENAME) $(REPO_URI)';
  const { out } = await run('apt-get', ['indextargets', '--format', format, ...options], { seconds: 60 });
  return [...out.matchAll(/^Packages Debian main (\S+) (\S+)$/gm)].map(([, codename = '', uri = '']) => ({
    codename,
    uri,
  }));
}

/**
 * @param {string[]} options
 * @returns {Promise<string | undefined>} what could not be fetched: apt-get takes that for success
 */
async function refresh(options) {
  const { code, err } = await run('apt-get', ['-qq', ...options, 'update'], { seconds: 300 });
  if (code !== 0) throw new Error(`apt-get update failed: ${firstError(err)}`);
  return /Failed to fetch.*/.exec(err)?.[0].trim();
}

/**
 * @param {PartSpec} spec
 * @param {{ options: string[], refreshed: string[], mustRefresh: boolean }} apt
 * @param {string} debs
 * @param {Log} log
 * @returns {Promise<string>} version and architecture
 */
async function downloadMissing(spec, { options, refreshed, mustRefresh }, debs, log) {
  if (!mustRefresh) {
    try {
      return await download(spec, options, debs, log);
    } catch (error) {
      if (error instanceof CantRunUnpacked) throw error;
      // Lists that are missing or old: get new ones, for us alone.
    }
  }
  const fresh = [...options, ...refreshed];
  const unfetched = await refresh(fresh);
  try {
    return await download(spec, fresh, debs, log);
  } catch (error) {
    if (unfetched === undefined || error instanceof CantRunUnpacked) throw error;
    throw new Error(`apt-get update: ${unfetched}`);
  }
}

class CantRunUnpacked extends Error {}

/**
 * @param {PartSpec} spec
 * @param {string[]} options
 * @param {string} debs
 * @param {Log} log
 */
async function download(spec, options, debs, log) {
  const install = ['-qq', '-s', ...options, 'install', '--no-install-recommends', ...spec.packages];
  const plan = await run('apt-get', install, { seconds: 120 });
  if (plan.code !== 0) throw new Error(`apt-get finds no way to get it: ${firstError(plan.err)}`);
  const closure = [...plan.out.matchAll(/^Inst (\S+) (?:\[\S+\] )?\((\S+) .*?\[(\w+)\]\)/gm)].map(
    ([, name = '', version = '', architecture = '']) => ({ name, version, architecture }),
  );
  const main = closure.find(({ name }) => spec.main.test(name));
  if (!main) throw new Error('its packages are installed, and it does not run');
  if (closure.some(({ name }) => C_LIBRARY.test(name))) {
    throw new CantRunUnpacked('it needs another C library than this system has');
  }
  const needed = closure.filter(({ name }) => !ONLY_INSTALLED.test(name) && !spec.skip?.test(name));
  const size = needed.length > 1 ? ` (${needed.length} packages)` : '';
  log(`Fetching ${spec.what}, because ${spec.why}: ${main.name} ${main.version}${size}…`);
  for (const deb of readdirSync(debs)) rmSync(join(debs, deb));
  const names = needed.map(({ name, version }) => `${name}=${version}`);
  const { code, err } = await run('apt-get', ['-qq', ...options, 'download', ...names], {
    cwd: debs,
    seconds: 900,
  });
  if (code !== 0) throw new Error(`the download failed: ${firstError(err)}`);
  return `${main.version}_${main.architecture}`;
}

/** @param {string} text */
function firstError(text) {
  const lines = text.split('\n').filter(Boolean);
  return (lines.find((line) => line.startsWith('E:')) ?? lines[0] ?? 'no reason given').replace(/^E: /, '');
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

/**
 * Really installs Debian packages, for a part that can't run unpacked. No service is started.
 *
 * @param {string[]} packages
 * @param {{ log: Log }} options
 * @returns {Promise<void>}
 */
export async function installDebianPackages(packages, { log }) {
  if (process.getuid?.() !== 0) throw new Error(`only root can install ${packages.join(', ')}`);
  log(`Installing Debian packages on this system: ${packages.join(' ')}…`);
  const restore = forbidServices();
  try {
    const args = ['-qq', '-y', 'install', '--no-install-recommends', ...packages];
    const env = { DEBIAN_FRONTEND: 'noninteractive' };
    const wait = settings({ 'DPkg::Lock::Timeout': '300' });
    let result = await run('apt-get', [...wait, ...args], { env, seconds: 1800 });
    if (result.code !== 0) {
      const update = await run('apt-get', [...wait, '-qq', 'update'], { env, seconds: 300 });
      if (update.code !== 0) throw new Error(`apt-get update failed: ${firstError(update.err)}`);
      result = await run('apt-get', [...wait, ...args], { env, seconds: 1800 });
    }
    if (result.code !== 0) throw new Error(`apt-get install failed: ${firstError(result.err)}`);
  } finally {
    restore();
  }
}

/** Puts Debian's own switch for this in place; returns what puts the former state back. */
function forbidServices() {
  const saved = `${POLICY}.before-railhead`;
  const there = existsSync(POLICY);
  // Ours, left by a run that was killed: the file from before, if any, is still saved.
  if (there && readFileSync(POLICY, 'utf8') !== POLICY_TEXT) renameSync(POLICY, saved);
  writeFileSync(POLICY, POLICY_TEXT, { mode: 0o755 });
  return () => {
    if (existsSync(saved)) renameSync(saved, POLICY);
    else rmSync(POLICY, { force: true });
  };
}

/** Where unpacked parts live: outside the checkout, so that every checkout and a fresh clone has them. */
export function cacheFolder() {
  const { RAILHEAD_CACHE, XDG_CACHE_HOME } = process.env;
  if (RAILHEAD_CACHE) return RAILHEAD_CACHE;
  if (process.getuid?.() === 0) return '/var/cache/railhead';
  return join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'railhead');
}

/**
 * Removes what fetches that were killed have left.
 *
 * @param {string} kept
 */
function sweep(kept) {
  const yesterday = Date.now() - 24 * 3_600_000;
  for (const name of readdirSync(kept)) {
    const path = join(kept, name);
    if (name.startsWith('.tmp-') && statSync(path).mtimeMs < yesterday) {
      rmSync(path, { recursive: true, force: true });
    }
  }
}

/**
 * @param {string} root an unpacked tree
 * @returns {string[]}
 */
function libraryFolders(root) {
  return ['usr/lib', 'lib'].flatMap((folder) =>
    folders(join(root, folder)).filter((path) => /-linux-gnu\w*$/.test(path)),
  );
}

/**
 * @param {string} path
 * @returns {string[]} the folders in it, full paths; temporary ones excepted
 */
function folders(path) {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map((entry) => join(path, entry.name));
  } catch {
    return [];
  }
}

/** @param {string[]} paths ending in versions */
function newestFirst(paths) {
  return paths.sort((a, b) => b.localeCompare(a, 'en', { numeric: true }));
}

/** @param {string} name */
function onPath(name) {
  const paths = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return paths.map((folder) => join(folder, name)).filter(isProgram);
}

/** @param {string} path */
function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * @param {string} program
 * @param {string[]} args
 */
async function succeeds(program, ...args) {
  return (await run(program, args, { seconds: 20 })).code === 0;
}

/**
 * @param {string} program
 * @param {string[]} args
 * @param {{ cwd?: string, env?: Record<string, string>, seconds: number }} options
 * @returns {Promise<{ code: number, out: string, err: string }>} code -1: could not start, or took too long
 */
function run(program, args, { cwd = '/', env = {}, seconds }) {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, LC_ALL: 'C', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: seconds * 1000,
      killSignal: 'SIGKILL',
    });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk) => {
      out += chunk;
    });
    child.stderr.on('data', (chunk) => {
      err += chunk;
    });
    child.once('error', (error) => resolve({ code: -1, out, err: err || error.message }));
    child.once('close', (code) =>
      resolve({
        code: code ?? -1,
        out,
        err: code === null ? `${err}\n${program} took over ${seconds} s` : err,
      }),
    );
  });
}
