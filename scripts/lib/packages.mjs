// The npm packages of this checkout: are they the locked ones, and if not, install them.
// Runs before any package is there and on whatever Node starts us, so: only Node's own modules, and nothing
// that Node 18 can't parse.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

/**
 * @typedef {object} Where
 * @property {string} root the checkout: the folder that holds package.json
 * @property {boolean} dev whether the packages for development and tests are wanted too
 */

/**
 * @typedef {object} Machine what decides which platform packages apply
 * @property {string} os as process.platform
 * @property {string} cpu as process.arch
 * @property {string | undefined} libc 'glibc', 'musl', or undefined where that means nothing
 */

/**
 * @typedef {object} LockedPackage the fields of a lock file entry that matter here
 * @property {string} [version]
 * @property {string} [integrity]
 * @property {string | string[]} [os]
 * @property {string | string[]} [cpu]
 * @property {string | string[]} [libc]
 * @property {boolean} [link]
 * @property {boolean} [dev]
 * @property {boolean} [optional]
 * @property {boolean} [devOptional]
 */

/**
 * @typedef {object} Missing a locked package that is not installed as locked
 * @property {string} path where it belongs, as in the lock file: 'node_modules/pg'
 * @property {boolean} optional npm may leave it out without failing
 * @property {boolean} dev only development needs it
 */

const LOCK = 'package-lock.json';
/** npm writes this at the end of every install that completes; an interrupted `npm ci` leaves none. */
const INSTALLED = 'node_modules/.package-lock.json';
/** Ours: optional packages that an install could not get, so that they aren't asked for at every start. */
const UNAVAILABLE = 'node_modules/.railhead-unavailable.json';
/** Held while packages are being installed: a folder with one file for each process that works on it. */
const SETUP_LOCK = '.railhead-setup.lock';
const SETUP_DEADLINE_MS = 15 * 60_000;

/**
 * The locked packages that apply to this machine and are not installed at the locked version. Pure.
 *
 * `devOptional` packages (development wants them, and something optional at run time too) count as optional
 * ones: `npm ci --omit=dev` installs them.
 *
 * @param {string} lockText package-lock.json
 * @param {string | undefined} installedText node_modules/.package-lock.json, undefined when there is none
 * @param {Machine & { dev: boolean }} options
 * @returns {Missing[]}
 */
export function missingPackages(lockText, installedText, { dev, ...machine }) {
  const locked = entries(lockText);
  const installed = new Map(installedText === undefined ? [] : entriesOrNone(installedText));
  return locked
    .filter(([path, entry]) => path.includes('node_modules/') && !entry.link)
    .filter(([, entry]) => dev || !entry.dev)
    .filter(([, entry]) => applies(entry, machine))
    .filter(([path, entry]) => {
      const there = installed.get(path);
      if (there === undefined || there.version !== entry.version) return true;
      return entry.integrity !== undefined && there.integrity !== entry.integrity;
    })
    .map(([path, entry]) => ({
      path,
      optional: Boolean(entry.optional || entry.devOptional),
      dev: Boolean(entry.dev),
    }));
}

/**
 * @param {string} text
 * @returns {Array<[string, LockedPackage]>}
 */
function entries(text) {
  return Object.entries(JSON.parse(text).packages ?? {});
}

/**
 * @param {string} text
 * @returns {Array<[string, LockedPackage]>}
 */
function entriesOrNone(text) {
  try {
    return entries(text);
  } catch {
    return []; // cut short by a crash
  }
}

/**
 * @param {LockedPackage} entry
 * @param {Machine} machine
 */
function applies(entry, machine) {
  if (!allows(entry.os, machine.os) || !allows(entry.cpu, machine.cpu)) return false;
  // npm takes a package that names a libc for Linux only.
  return entry.libc === undefined || (machine.libc !== undefined && allows(entry.libc, machine.libc));
}

/**
 * npm's rule for `os`, `cpu` and `libc`: names that are allowed, or `!name` for those that are not.
 *
 * @param {string | string[] | undefined} rule
 * @param {string} value
 */
function allows(rule, value) {
  const names = rule === undefined ? [] : [rule].flat();
  if (names.includes(`!${value}`)) return false;
  const wanted = names.filter((name) => !name.startsWith('!'));
  return wanted.length === 0 || wanted.includes(value) || wanted.includes('any');
}

/**
 * Whether some locked package that applies here is not installed as locked, whoever installed what is there.
 *
 * @param {Where} where
 * @returns {boolean}
 */
export function packagesAreStale(where) {
  return stalePackages(where).length > 0;
}

/**
 * @param {Where} where
 * @returns {Missing[]}
 */
function stalePackages({ root, dev }) {
  const lockText = read(join(root, LOCK));
  // Railhead installed as a package of something else has no lock file of its own: npm has done all there is.
  if (lockText === undefined) return [];
  const options = { dev, os: process.platform, cpu: process.arch, libc: libc() };
  /** @type {Missing[]} */
  let missing;
  /** @type {Missing[]} */
  let all;
  try {
    missing = missingPackages(lockText, read(join(root, INSTALLED)), options);
    all = missingPackages(lockText, undefined, options);
  } catch (error) {
    throw new Error(
      `${join(root, LOCK)} is no JSON (${message(error).replace(/\s+/g, ' ')}): restore it with git checkout.`,
    );
  }
  // What npm's own record says is there may have been deleted since.
  const listed = new Set(missing.map(({ path }) => path));
  const gone = all.filter(({ path }) => !listed.has(path) && !existsSync(join(root, path, 'package.json')));
  const unavailable = unavailablePackages(root, lockText);
  return [...missing.filter(({ path, optional }) => !(optional && unavailable.has(path))), ...gone];
}

/**
 * Installs the locked packages, unless another set-up in this checkout does so while we wait for it.
 *
 * @param {Where} where
 * @returns {Promise<void>}
 */
export async function installPackages({ root, dev }) {
  const setup = await holdSetupLock(root, () => packagesAreStale({ root, dev }));
  if (setup === undefined) return;
  try {
    const missing = stalePackages({ root, dev });
    // Only development packages are missing: add them, so that a server which runs from this checkout keeps
    // its packages. `npm ci` would first delete them all.
    const addOnly =
      existsSync(join(root, INSTALLED)) && missing.length > 0 && missing.every((one) => one.dev);
    say(`Installing locked packages (${reason(root, addOnly)}; about 1 minute)…`);
    const args = addOnly ? ['install', '--no-save'] : ['ci'];
    args.push('--ignore-scripts', '--include=optional', dev ? '--include=dev' : '--omit=dev');
    // Errors only: the machine's npm warns about its own settings and about engines that don't matter here.
    args.push('--loglevel=error', '--no-audit', '--no-fund', '--no-update-notifier');
    await runNpm(args, root, setup.add);
    checkInstalled({ root, dev });
  } finally {
    setup.release();
  }
}

/**
 * @param {string} root
 * @param {boolean} addOnly
 */
function reason(root, addOnly) {
  if (addOnly) return 'development packages are missing';
  if (!existsSync(join(root, 'node_modules'))) return 'first start';
  return existsSync(join(root, INSTALLED))
    ? 'the installed ones differ'
    : 'an earlier install did not finish';
}

/**
 * npm succeeds although it left out optional packages. Keep those in mind; anything else missing is a failure.
 *
 * @param {Where} where
 */
function checkInstalled({ root, dev }) {
  const missing = stalePackages({ root, dev });
  const required = missing.filter((one) => !one.optional);
  if (required.length > 0) {
    throw new Error(
      `npm finished, but ${list(required)} is not installed as package-lock.json says: delete node_modules and start again.`,
    );
  }
  if (missing.length === 0) return;
  say(`Left out, because npm could not get them here (all optional): ${list(missing)}`);
  const lockText = read(join(root, LOCK)) ?? '';
  const packages = missing.map(({ path }) => path);
  writeFileSync(join(root, UNAVAILABLE), `${JSON.stringify({ for: fingerprint(lockText), packages })}\n`);
}

/**
 * @param {string} root
 * @param {string} lockText
 * @returns {Set<string>}
 */
function unavailablePackages(root, lockText) {
  try {
    const noted = JSON.parse(read(join(root, UNAVAILABLE)) ?? '{}');
    return new Set(noted.for === fingerprint(lockText) ? noted.packages : []);
  } catch {
    return new Set();
  }
}

/**
 * What packages could be had is only known for one lock file on one kind of machine.
 *
 * @param {string} lockText
 */
function fingerprint(lockText) {
  return `${process.platform}-${process.arch}-${createHash('sha256').update(lockText).digest('hex')}`;
}

/** @param {Missing[]} missing */
function list(missing) {
  const names = missing.slice(0, 5).map(({ path }) => path.replace(/^.*node_modules\//, ''));
  return (
    names.join(', ') + (missing.length > names.length ? ` and ${missing.length - names.length} more` : '')
  );
}

/**
 * @param {string[]} args
 * @param {string} root
 * @param {(pid: number) => void} started told npm's process id
 * @returns {Promise<void>}
 */
async function runNpm(args, root, started) {
  const [command, ...first] = npmCommand();
  // npm's standard output must not mix with ours, which a caller may parse.
  const child = spawn(/** @type {string} */ (command), [...first, ...args], {
    cwd: root,
    stdio: ['ignore', 2, 'pipe'],
  });
  let output = '';
  child.stderr?.on('data', (/** @type {Buffer} */ chunk) => {
    output += chunk;
  });
  /** @type {NodeJS.Signals | undefined} */
  let asked;
  const forward = (/** @type {NodeJS.Signals} */ signal) => {
    asked = signal;
    child.kill(signal);
  };
  /** @type {NodeJS.Signals[]} */
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, forward);
  try {
    if (child.pid !== undefined) started(child.pid);
    await new Promise((resolve, reject) => {
      child.once('error', (error) => reject(new Error(noNpm(error))));
      child.once('close', (code, signal) => {
        if (code === 0) resolve(undefined);
        else if (asked) reject(new Error(`Installing packages was stopped (${asked}): start again.`));
        else {
          // After a wrong lock file npm prints its whole manual.
          const lines = output.split(/^npm error (?:Clean install|Install) a /m)[0]?.split('\n') ?? [];
          say(lines.slice(0, 40).join('\n').trimEnd());
          reject(new Error(npmFailure(output, code ?? signal ?? 'unknown', root)));
        }
      });
    });
  } finally {
    for (const signal of signals) process.off(signal, forward);
    // Nobody else may listen for it: end the way the signal asks for, once our caller has cleaned up.
    if (asked !== undefined) {
      const signal = asked;
      setImmediate(() => process.kill(process.pid, signal));
    }
  }
}

/**
 * The npm that started us, run by the Node that runs us; else the one on PATH. (npm ci may delete the very
 * Node that runs it, when that is the bundled one: on Linux a running binary survives its file.)
 *
 * @returns {string[]}
 */
function npmCommand() {
  const cli = process.env.npm_execpath;
  if (cli !== undefined && /^np[mx]-cli\.js$/.test(basename(cli))) {
    const npm = join(dirname(cli), 'npm-cli.js');
    if (existsSync(npm)) return [process.execPath, npm];
  }
  return ['npm'];
}

/** @param {Error} error */
function noNpm(error) {
  return `npm could not be started (${error.message}): install Node.js 18 or later with npm, then start again.`;
}

/**
 * One line: what failed, and what to do. npm's own words are on the screen already.
 *
 * @param {string} output
 * @param {string | number} code
 * @param {string} root
 */
function npmFailure(output, code, root) {
  const npmCode = /^npm (?:error|ERR!) code (\S+)/m.exec(output)?.[1];
  const advice = /** @type {Array<[RegExp, string]>} */ ([
    [/^EUSAGE$/, 'package.json and package-lock.json disagree: run `npm install` and commit both files'],
    [
      /^(ENOTFOUND|EAI_AGAIN|ECONN\w+|ETIMEDOUT|ERR_SOCKET_TIMEOUT|ENETUNREACH|EHOSTUNREACH)$/,
      'the package registry could not be reached: check the network, the proxy and `npm config get registry`, then start again',
    ],
    [
      /^(E401|E403|E404|ETARGET)$/,
      'the registry does not hand out a locked package: check `npm config get registry`',
    ],
    [
      /^EINTEGRITY$/,
      'a package is not what the lock file says: run `npm cache clean --force`, then start again',
    ],
    [
      /^(EACCES|EPERM|EROFS)$/,
      `no right to write to ${join(root, 'node_modules')}: fix its owner, then start again`,
    ],
    [/^(ENOSPC|EDQUOT)$/, 'the disk is full: make room, then start again'],
  ]).find(([pattern]) => npmCode !== undefined && pattern.test(npmCode))?.[1];
  const what = `Installing packages failed (npm: ${npmCode ?? `exit ${code}`})`;
  return `${what}: ${advice ?? 'see the lines above, then start again'}.`;
}

/**
 * Waits until no other set-up works in this checkout, then holds the lock. Returns undefined when there is
 * nothing left to do after the wait.
 *
 * @param {string} root
 * @param {() => boolean} stillNeeded
 * @returns {Promise<{ add: (pid: number) => void, release: () => void } | undefined>}
 */
async function holdSetupLock(root, stillNeeded) {
  const lock = join(root, SETUP_LOCK);
  const since = Date.now();
  for (let waited = false; ; waited = true) {
    const me = owner(process.pid);
    if (takeSetupLock(root, lock, me)) {
      const names = [me];
      const release = () => {
        for (const name of names) rmSync(join(lock, name), { force: true });
        dropIfEmpty(lock);
      };
      if (waited && !stillNeeded()) {
        release();
        return undefined;
      }
      // npm's own process holds the lock too: it would go on if we were killed.
      const add = (/** @type {number} */ pid) => {
        const name = owner(pid);
        names.push(name);
        writeFileSync(join(lock, name), '');
      };
      return { add, release };
    }
    const holder = owners(lock)[0]?.split('-')[0] ?? 'unknown';
    if (!waited) say(`Process ${holder} is already installing packages in this checkout: waiting for it…`);
    if (Date.now() - since > SETUP_DEADLINE_MS) {
      throw new Error(
        `Process ${holder} has been installing packages for over ${SETUP_DEADLINE_MS / 60_000} minutes: end it, or delete ${lock}, then start again.`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

/**
 * Renaming a folder onto an empty one succeeds and onto a full one fails, in one step: so whoever gets its
 * own file in holds the lock. A dead owner's file is removed by its name, which no live owner has.
 *
 * @param {string} root
 * @param {string} lock
 * @param {string} me
 * @returns {boolean}
 */
function takeSetupLock(root, lock, me) {
  for (const name of owners(lock)) {
    const [pid] = name.split('-');
    if (owner(Number(pid)) === name && isAlive(Number(pid))) return false;
    rmSync(join(lock, name), { force: true });
  }
  const mine = mkdtempSync(join(root, `${SETUP_LOCK}-`));
  try {
    chmodSync(mine, 0o755);
    writeFileSync(join(mine, me), '');
    renameSync(mine, lock);
    return true;
  } catch (error) {
    rmSync(mine, { recursive: true, force: true });
    if (['ENOTEMPTY', 'EEXIST'].includes(code(error))) return false;
    throw error;
  }
}

/**
 * A process id and, where the system tells, when it started: ids are used again.
 *
 * @param {number} pid
 */
function owner(pid) {
  const stat = read(`/proc/${pid}/stat`);
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields?.[0] === 'Z') return `${pid}-ended`; // not yet collected by its parent
  return `${pid}-${fields?.[19] ?? 'unknown'}`;
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return code(error) === 'EPERM';
  }
}

/** @param {string} lock */
function owners(lock) {
  try {
    return readdirSync(lock);
  } catch {
    return [];
  }
}

/** @param {string} lock */
function dropIfEmpty(lock) {
  try {
    rmdirSync(lock);
  } catch {
    // the next one holds it already
  }
}

/**
 * The Node.js that the lock file brings along for this platform.
 *
 * @param {string} root
 * @returns {string | undefined} path of the binary
 */
export function bundledNode(root) {
  if (process.platform !== 'linux' || libc() === 'musl') return undefined;
  const node = join(root, 'node_modules', `node-linux-${process.arch}`, 'bin', 'node');
  try {
    accessSync(node, constants.X_OK);
    return node;
  } catch {
    return undefined;
  }
}

/** @returns {string | undefined} */
function libc() {
  if (process.platform !== 'linux') return undefined;
  const ldd = read('/usr/bin/ldd'); // a script that names its libc, on both families
  if (ldd !== undefined) return ldd.includes('musl') ? 'musl' : 'glibc';
  return existsSync('/etc/alpine-release') ? 'musl' : 'glibc';
}

/**
 * @param {string} path
 * @returns {string | undefined}
 */
function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** @param {unknown} error */
function code(error) {
  return String(/** @type {NodeJS.ErrnoException} */ (error)?.code ?? '');
}

/** @param {unknown} error */
function message(error) {
  return error instanceof Error ? error.message : String(error);
}

/** @param {string} line */
function say(line) {
  process.stderr.write(`${line}\n`);
}
