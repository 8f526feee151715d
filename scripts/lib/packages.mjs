// Installs the npm packages of this checkout as they are locked.
// Runs before any package is there and on whatever Node starts us, so: only Node's own modules, and nothing
// that Node 18 can't parse. That goes for everything it imports.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { say } from './files.mjs';
import { INSTALLED, noteUnavailable, packagesAreStale, stalePackages } from './locked-packages.mjs';
import { withNodeForNpm } from './node-for-npm.mjs';
import { runNpm } from './npm.mjs';
import { holdSetupLock } from './setup-lock.mjs';

export { missingPackages, packagesAreStale } from './locked-packages.mjs';
export { bundledNode } from './node.mjs';

/** @typedef {import('./locked-packages.mjs').Where} Where */
/** @typedef {import('./locked-packages.mjs').Missing} Missing */

/** @typedef {import('./node-for-npm.mjs').NodeForNpm} NodeForNpm */

const OLD_NODE_HINT = `. They may need a newer Node than ${process.version}: install Node 24 and start again.`;

/** Held while packages are being installed. */
const SETUP_LOCK = '.railhead-setup.lock';

/**
 * Installs the locked packages, unless another set-up in this checkout does so while we wait for it.
 *
 * @param {Where} where
 * @returns {Promise<void>}
 */
export async function installPackages({ root, dev }) {
  const setup = await holdSetupLock(join(root, SETUP_LOCK), 'installing packages in this checkout', () =>
    packagesAreStale({ root, dev }),
  );
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
    await withNodeForNpm(root, setup.add, async (node) => {
      await runNpm(args, { cwd: root, node, started: setup.add });
      checkInstalled({ root, dev, node });
    });
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
 * npm succeeds although it left out optional packages. Remember those; anything else missing is a failure.
 *
 * @param {Where & { node: NodeForNpm }} where
 */
function checkInstalled({ root, dev, node }) {
  const missing = stalePackages({ root, dev });
  const required = missing.filter((one) => !one.optional);
  if (required.length > 0) {
    throw new Error(
      `npm finished, but ${list(required)} is not installed as package-lock.json says: delete node_modules and start again.`,
    );
  }
  if (missing.length === 0) return;
  say(`npm left out optional packages: ${list(missing)}${node.isOld ? OLD_NODE_HINT : ''}`);
  noteUnavailable(root, missing, node.version);
}

/** @param {Missing[]} missing */
function list(missing) {
  const names = missing.slice(0, 5).map(({ path }) => path.replace(/^.*node_modules\//, ''));
  return (
    names.join(', ') + (missing.length > names.length ? ` and ${missing.length - names.length} more` : '')
  );
}
