// One set-up at a time: a lock that survives nobody. It is a folder with one file for each process that works
// under it.
import { chmodSync, mkdtempSync, readdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode, read, say } from './files.mjs';

const DEADLINE_MS = 15 * 60_000;

/**
 * Waits until no other set-up does the same, then holds the lock. Returns undefined when there is nothing left
 * to do after the wait.
 *
 * @param {string} lock its path
 * @param {string} doing what its holder does: 'installing packages'
 * @param {() => boolean} stillNeeded
 * @returns {Promise<{ add: (pid: number) => void, release: () => void } | undefined>}
 */
export async function holdSetupLock(lock, doing, stillNeeded) {
  const since = Date.now();
  for (let waited = false; ; waited = true) {
    const me = owner(process.pid);
    if (takeSetupLock(lock, me)) {
      const names = [me];
      const release = () => {
        for (const name of names) rmSync(join(lock, name), { force: true });
        dropIfEmpty(lock);
      };
      if (waited && !stillNeeded()) {
        release();
        return undefined;
      }
      // A process that we start holds the lock too: it would go on if we were killed.
      const add = (/** @type {number} */ pid) => {
        const name = owner(pid);
        names.push(name);
        writeFileSync(join(lock, name), '');
      };
      return { add, release };
    }
    const holder = owners(lock)[0]?.split('-')[0] ?? 'unknown';
    if (!waited) say(`Process ${holder} is already ${doing}: waiting for it…`);
    if (Date.now() - since > DEADLINE_MS) {
      throw new Error(
        `Process ${holder} has been ${doing} for over ${DEADLINE_MS / 60_000} minutes: end it, or delete ${lock}, then start again.`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

/**
 * Renaming a folder onto an empty one succeeds and onto a full one fails, in one step: so whoever gets its
 * own file in holds the lock. A dead owner's file is removed by its name, which no live owner has.
 *
 * @param {string} lock
 * @param {string} me
 * @returns {boolean}
 */
function takeSetupLock(lock, me) {
  for (const name of owners(lock)) {
    const [pid] = name.split('-');
    if (owner(Number(pid)) === name && isAlive(Number(pid))) return false;
    rmSync(join(lock, name), { force: true });
  }
  const mine = mkdtempSync(`${lock}-`);
  try {
    chmodSync(mine, 0o755);
    writeFileSync(join(mine, me), '');
    renameSync(mine, lock);
    return true;
  } catch (error) {
    rmSync(mine, { recursive: true, force: true });
    if (['ENOTEMPTY', 'EEXIST'].includes(errorCode(error))) return false;
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
    return errorCode(error) === 'EPERM';
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
