// Where apt can get packages from, for this machine and for others: its own release, newer ones on the same
// mirror, and the other architecture. Package lists that the machine lacks are fetched into a temporary folder.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  aptReleases,
  aptSettings,
  debianMirror,
  debianSource,
  firstError,
  HANDS_OFF,
  NO_ANSWER,
  privateLists,
  privateSources,
  refresh,
} from '../debian.mjs';
import { run } from '../run.mjs';
import { megabytes, Progress } from './progress.mjs';

/** @typedef {import('../debian.mjs').Release} Release */
/** @typedef {import('./table.mjs').Group} Group */
/** @typedef {{ name: string, version: string, arch: string, file: string, size: number }} Deb */
/** @typedef {{ source: string, debs: Array<Deb & { path: string }> }} Fetched */
/** @typedef {(group: Group, folder: string) => Promise<Fetched>} Fetch */

/** A start waits for it: a mirror that does not answer has to be given up soon. */
const IMPATIENT = aptSettings({
  'Acquire::Retries': '1',
  'Acquire::http::Timeout': '15',
  'Acquire::https::Timeout': '15',
});

export class Apt {
  #temp;
  #log;
  #progress;
  /** Ends every download: one that finds no mirror spares the others the wait. */
  #end = new AbortController();
  /** @type {string | undefined} why no mirror can be asked any more */
  #unreachable;
  #lists = 0;
  /** @type {Map<string, Promise<any>>} what is only done once */
  #done = new Map();

  /** @param {{ temp: string, log: (line: string) => void, signal?: AbortSignal | undefined }} options */
  constructor({ temp, log, signal }) {
    this.#temp = temp;
    this.#log = log;
    this.#progress = new Progress(log);
    signal?.addEventListener('abort', () => this.#giveUp('it took too long'), { once: true });
  }

  /**
   * Ways to get a group's packages, best first.
   *
   * @param {Group} group
   * @returns {Promise<Array<{ name: string, fetch: Fetch }>>}
   */
  async ways(group) {
    const releases = await this.#own();
    const native = await this.#native();
    const arch = group.packages.find((one) => one.arch)?.arch ?? native;
    return releaseOrder(group.release, releases).map((suite) => ({
      name: suite === OWN ? "this machine's apt" : `Debian ${suite}`,
      fetch: async (wanted, folder) => {
        if (suite !== OWN) return this.#fetchFrom([suite], arch, wanted, folder);
        if (arch === native) return this.#fetchNative(wanted, folder);
        const own = releases.filter(({ origin, component }) => origin === 'Debian' && component === 'main');
        return this.#fetchFrom([...new Set(own.map(({ codename }) => codename))], arch, wanted, folder);
      },
    }));
  }

  /** The releases that this machine is set up for. @returns {Promise<Release[]>} */
  #own() {
    return this.#once('own', async () => {
      const releases = await aptReleases(HANDS_OFF);
      return releases.length > 0 ? releases : aptReleases(await this.#ownRefreshed());
    });
  }

  /** @returns {Promise<string[]>} options */
  #ownRefreshed() {
    return this.#once('own refreshed', () => this.#refreshed("this machine's apt sources", () => []));
  }

  /** @returns {Promise<string>} */
  #native() {
    return this.#once('native', async () => {
      const { out } = await run('dpkg', ['--print-architecture'], { seconds: 20 });
      return out.trim();
    });
  }

  /** @type {Fetch} */
  async #fetchNative(group, folder) {
    const release = (await this.#own())[0];
    const source = release === undefined ? 'apt' : `${release.origin} ${release.codename}`;
    try {
      // Read by several runs of apt-get: once is enough.
      const parsed = aptSettings({ 'Dir::Cache::pkgcache': join(this.#temp, 'own-pkgcache.bin') });
      return await this.#fetch(source, [...HANDS_OFF, ...IMPATIENT, ...parsed], group, folder);
    } catch {
      // Lists that are missing or old: get new ones, for us alone.
      return this.#fetch(source, await this.#ownRefreshed(), group, folder);
    }
  }

  /**
   * @param {string[]} suites
   * @param {string} arch
   * @param {Group} group
   * @param {string} folder
   * @returns {Promise<Fetched>}
   */
  async #fetchFrom(suites, arch, group, folder) {
    const releases = await this.#own();
    const mirror = debianMirror(releases);
    if (mirror === undefined) throw new Error("this machine's apt knows no Debian mirror");
    const shown = `Debian ${suites[0]}${arch === (await this.#native()) ? '' : ` for ${arch}`}`;
    const options = await this.#once(`${suites} ${arch}`, () =>
      this.#refreshed(shown, (lists) => [
        ...privateSources(
          lists,
          suites.map((suite) => {
            const uri = releases.find(({ codename }) => codename === suite)?.uri ?? mirror.uri;
            return debianSource({ uri, suite, arch });
          }),
        ),
        ...aptSettings({ 'APT::Architectures::': arch }),
      ]),
    );
    const codename = debianMirror(await aptReleases(options))?.codename ?? suites[0];
    return this.#fetch(`Debian ${codename}`, options, group, folder);
  }

  /**
   * @param {string} shown
   * @param {(lists: string) => string[]} sources options that name them; none: the machine's
   * @returns {Promise<string[]>} options
   */
  async #refreshed(shown, sources) {
    this.#stopIfUnreachable();
    const lists = join(this.#temp, `lists-${this.#lists++}`);
    const options = [...HANDS_OFF, ...IMPATIENT, ...privateLists(lists), ...sources(lists)];
    this.#log(`Reading the package list of ${shown}…`);
    const stop = this.#progress.watch(`the package list of ${shown}`, join(lists, 'lists'));
    try {
      const unfetched = await refresh(options, { signal: this.#end.signal });
      // Some of several lists may do: what is missing in them is said when it is asked for.
      if (unfetched !== undefined && (await aptReleases(options)).length === 0) throw new Error(unfetched);
    } catch (error) {
      throw this.#noteUnreachable(/** @type {Error} */ (error));
    } finally {
      stop();
    }
    return options;
  }

  /**
   * @param {string} source
   * @param {string[]} options
   * @param {Group} group
   * @param {string} folder
   * @returns {Promise<Fetched>}
   */
  async #fetch(source, options, group, folder) {
    const names = group.packages.map(({ name, arch }) => (arch === undefined ? name : `${name}:${arch}`));
    const plan = await run('apt-get', ['-qq', ...options, 'download', '--print-uris', ...names], {
      seconds: 120,
      signal: this.#end.signal,
    });
    if (plan.code !== 0) throw new Error(firstError(plan.err));
    const debs = parseUris(plan.out);
    if (debs.length < names.length)
      throw new Error(`apt-get found only ${debs.length} of ${names.join(', ')}`);
    this.#stopIfUnreachable();
    const what = debs.map(({ name, version }) => `${name} ${version}`).join(', ');
    const size = debs.reduce((sum, deb) => sum + deb.size, 0);
    this.#log(`Fetching ${what} (${megabytes(size)}) from ${source}…`);
    mkdirSync(folder, { recursive: true });
    const stop = this.#progress.watch(group.name, folder);
    const { code, err } = await run('apt-get', ['-qq', ...options, 'download', ...names], {
      cwd: folder,
      seconds: 600,
      signal: this.#end.signal,
    }).finally(stop);
    if (code !== 0) throw this.#noteUnreachable(new Error(firstError(err)));
    return { source, debs: debs.map((deb) => ({ ...deb, path: join(folder, deb.file) })) };
  }

  /** @param {Error} error */
  #noteUnreachable(error) {
    if (NO_ANSWER.test(error.message)) this.#giveUp(error.message);
    return this.#unreachable === undefined ? error : new Error(this.#unreachable);
  }

  /** @param {string} why */
  #giveUp(why) {
    this.#unreachable ??= why;
    this.#end.abort();
  }

  #stopIfUnreachable() {
    if (this.#unreachable !== undefined) throw new Error(this.#unreachable);
  }

  /**
   * @template T
   * @param {string} name
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  #once(name, work) {
    const promise = this.#done.get(name) ?? work();
    this.#done.set(name, promise);
    return promise;
  }
}

const OWN = 'own';

/**
 * Which Debian releases to try, best first. `testing` counts as the newest: what is only in `unstable` has not
 * been used by anybody yet.
 *
 * @param {Group['release']} wanted
 * @param {Release[]} releases this machine's
 * @returns {string[]}
 */
export function releaseOrder(wanted, releases) {
  const debian = debianMirror(releases);
  // Another distribution's machine knows no mirror that has Debian's releases.
  if (debian === undefined) return [OWN];
  const suites = new Set(releases.flatMap(({ suite, codename }) => [suite, codename]));
  if (wanted === 'own') return [OWN, 'stable'].filter((suite) => !suites.has(suite));
  if (suites.has('testing') || suites.has('unstable')) return [OWN];
  return ['testing', 'stable', `${debian.codename}-backports`, OWN].filter((suite) => !suites.has(suite));
}

/**
 * @param {string} text what `apt-get download --print-uris` prints: 'URI' FILE SIZE HASH
 * @returns {Deb[]}
 */
export function parseUris(text) {
  return [...text.matchAll(/^'.*' (([^_\s]+)_([^_\s]+)_([^_\s]+)\.deb) (\d+)/gm)].map(
    ([, file = '', name = '', version = '', arch = '', size]) => ({
      name,
      version: version.replaceAll('%3a', ':'), // the epoch's colon
      arch,
      file,
      size: Number(size),
    }),
  );
}
