// The newest version of a part that apt offers: downloaded and unpacked, unless that was done before.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { folders, withTempFolder } from './cache.mjs';
import {
  aptReleases,
  aptSettings,
  debianMirror,
  debianSource,
  firstError,
  minimalStatus,
  unpack,
} from './debian.mjs';
import { errorCode, read, writeWhole } from './files.mjs';
import { packageLists } from './package-lists.mjs';
import { complaint, keptPart, treeName, usable } from './part-trees.mjs';
import { run } from './run.mjs';

/** @typedef {import('./package-lists.mjs').PackageLists} PackageLists */
/** @typedef {import('./parts.mjs').Log} Log */
/** @typedef {import('./parts.mjs').Part} Part */
/** @typedef {import('./parts.mjs').PartSpec} PartSpec */
/** @typedef {{ name: string, version: string, architecture: string }} Package */

/** Older trees that nobody used for that long are removed when a newer one works. */
const UNUSED_MS = 24 * 3_600_000;

/** Only of use to an installed system: scripts of packages, accounts, Perl, files with a fixed place. */
const ONLY_INSTALLED =
  /^(adduser|debconf|dpkg|init-system-helpers|lib\S+-perl|libc-l10n|libpam-(modules|runtime)\S*|libperl\S+|locales|lsb-\S+|netbase|openssl|passwd|perl\S*|readline-common|sensible-utils|ssl-cert|sysvinit-utils|tzdata|ucf|usrmerge)$/;

/** Programs run with the system's own loader, which fits one C library only; or with that of their own library. */
const C_LIBRARY = /^(libc6|libc-bin)$/;

/**
 * @param {PartSpec} spec
 * @param {string} kept the folder of its trees
 * @param {{ forced: boolean, log: Log }} options forced: rely on nothing that a minimal Debian lacks
 * @returns {Promise<Part>}
 */
export async function newestPart(spec, kept, { forced, log }) {
  const lists = await listsFor(spec, { log });
  const offer = offerOf(kept);
  const part =
    offer?.refreshed === lists.refreshed ? await keptPart(spec, join(kept, offer.tree)) : undefined;
  if (part) return part;
  mkdirSync(kept, { recursive: true });
  try {
    return await fetchPart(spec, kept, lists, { forced, log });
  } catch (error) {
    if (error instanceof CantRunUnpacked) throw error;
    // A mirror drops a version when it gets the next one, so the lists may be too old already.
    const newer = await listsFor(spec, { log, since: lists.refreshed });
    if (newer.refreshed === lists.refreshed) throw error;
    return fetchPart(spec, kept, newer, { forced, log });
  }
}

class CantRunUnpacked extends Error {}

/**
 * Which tree apt offered, and when the lists that said so were refreshed.
 *
 * @param {string} kept
 * @returns {{ refreshed: number, tree: string } | undefined}
 */
function offerOf(kept) {
  const text = read(offerFile(kept));
  return text === undefined ? undefined : JSON.parse(text);
}

/** @param {string} kept */
function offerFile(kept) {
  return join(kept, 'offer.json');
}

/**
 * Unpacks beside the final place, then renames: a folder that has its name is complete.
 *
 * @param {PartSpec} spec
 * @param {string} kept
 * @param {PackageLists} lists
 * @param {{ forced: boolean, log: Log }} options
 * @returns {Promise<Part>}
 */
async function fetchPart(spec, kept, lists, { forced, log }) {
  return withTempFolder(kept, async (temp) => {
    const apt = [...(await lists.options()), ...statusOptions(spec, temp, forced), ...releaseOptions(spec)];
    const { main, needed } = await plan(spec, apt);
    const place = join(kept, treeName(main));
    let part = existsSync(place) ? await keptPart(spec, place) : undefined;
    if (!part) {
      const size = needed.length > 1 ? ` (${needed.length} packages)` : '';
      log(`Fetching ${spec.what}, because ${spec.why}: ${main.name} ${main.version}${size}…`);
      const tree = await downloadTree(spec, needed, apt, temp);
      part = await moveInto(spec, tree, place);
      if (!part) throw new Error(`what was unpacked does not run from ${place}`);
    }
    writeWhole(offerFile(kept), JSON.stringify({ refreshed: lists.refreshed, tree: basename(place) }));
    removeUnused(kept, place);
    return part;
  });
}

/**
 * @param {PartSpec} spec
 * @param {Package[]} packages
 * @param {string[]} apt
 * @param {string} temp
 * @returns {Promise<string>} the tree
 */
async function downloadTree(spec, packages, apt, temp) {
  const debs = join(temp, 'debs');
  const tree = join(temp, 'tree');
  mkdirSync(debs);
  const names = packages.map(({ name, version }) => `${name}=${version}`);
  const { code, err } = await run('apt-get', ['-qq', ...apt, 'download', ...names], {
    cwd: debs,
    seconds: 900,
  });
  if (code !== 0) throw new Error(`the download failed: ${firstError(err)}`);
  for (const deb of readdirSync(debs)) await unpack(join(debs, deb), tree);
  if (!(await usable(spec, tree, 'unpacked'))) {
    throw new Error(`what was unpacked does not run: ${await complaint(spec, tree)}`);
  }
  chmodSync(tree, 0o755); // other users run it too
  return tree;
}

/**
 * @param {PartSpec} spec
 * @param {string} tree
 * @param {string} place
 */
async function moveInto(spec, tree, place) {
  // One that exists and does not run is of no use to anybody; one that runs was unpacked at the same time.
  if (existsSync(place) && !(await usable(spec, place, 'unpacked'))) {
    rmSync(place, { recursive: true, force: true });
  }
  try {
    renameSync(tree, place);
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes(errorCode(error))) throw error;
  }
  return keptPart(spec, place);
}

/**
 * @param {string} kept
 * @param {string} place what stays
 */
function removeUnused(kept, place) {
  for (const tree of folders(kept)) {
    const used = statSync(tree, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (tree !== place && used < Date.now() - UNUSED_MS) rmSync(tree, { recursive: true, force: true });
  }
}

/**
 * @param {PartSpec} spec
 * @param {string[]} apt
 * @returns {Promise<{ main: Package, needed: Package[] }>} what apt would install
 */
async function plan(spec, apt) {
  const install = ['-qq', '-s', ...apt, 'install', '--no-install-recommends', ...spec.packages];
  const { code, out, err } = await run('apt-get', install, { seconds: 120 });
  if (code !== 0) throw new Error(`apt-get finds no way to get it: ${firstError(err)}`);
  const closure = [...out.matchAll(/^Inst (\S+) (?:\[\S+\] )?\((\S+) .*?\[(\w+)\]\)/gm)].map(
    ([, name = '', version = '', architecture = '']) => ({ name, version, architecture }),
  );
  const main = closure.find(({ name }) => spec.main.test(name));
  if (!main) throw new Error('its packages are installed, and it does not run');
  if (!spec.ownLibrary && !spec.newest && closure.some(({ name }) => C_LIBRARY.test(name))) {
    throw new CantRunUnpacked('it needs another C library than this system has');
  }
  const needed = closure.filter(({ name }) => !ONLY_INSTALLED.test(name) && !spec.skip?.test(name));
  return { main, needed };
}

/**
 * @param {PartSpec} spec
 * @param {string} temp
 * @param {boolean} forced
 */
function statusOptions(spec, temp, forced) {
  // With a library of its own it can't rely on anything that the system has; nor is one installed if apt offers it.
  if (spec.ownLibrary || spec.newest) return aptSettings({ 'Dir::State::status': '/dev/null' });
  if (!forced) return [];
  const status = join(temp, 'status');
  writeFileSync(status, minimalStatus(readFileSync('/var/lib/dpkg/status', 'utf8')));
  return aptSettings({ 'Dir::State::status': status });
}

/** @param {PartSpec} spec */
function releaseOptions({ suite, base }) {
  // Backports are only taken by those who ask for them.
  return base === undefined ? [] : aptSettings({ 'APT::Default-Release': `${suite}` });
}

/**
 * The machine's own sources, or another Debian release on the mirror that the machine is set up for.
 *
 * @param {PartSpec} spec
 * @param {{ log: Log, since?: number }} options
 */
function listsFor({ suite, base }, options) {
  if (suite === undefined || (suite === ownRelease() && base === undefined)) return ownLists(options);
  return packageLists(
    suite,
    async () => {
      const mirror = await findMirror(options.log);
      if (mirror === undefined) {
        throw new Error(`it is in Debian ${suite}, and this machine's apt knows no Debian mirror`);
      }
      const suites = [suite, ...(base === undefined ? [] : [base])];
      return suites.map((one) => debianSource({ uri: mirror.uri, suite: one }));
    },
    options,
  );
}

/** @param {{ log: Log, since?: number }} options */
function ownLists(options) {
  return packageLists('own', async () => undefined, options);
}

/** @param {Log} log */
async function findMirror(log) {
  const known = debianMirror(await aptReleases([]));
  // A machine that never ran `apt-get update` does not know.
  return known ?? debianMirror(await aptReleases(await (await ownLists({ log })).options()));
}

function ownRelease() {
  return /^VERSION_CODENAME=(\S+)$/m.exec(read('/etc/os-release') ?? '')?.[1];
}
