// Which Node.js runs npm. npm leaves out optional packages whose `engines` don't fit the Node that runs it, without
// failing: on Node 18 that is what vitest can't start without. So an old Node only fetches the bundled Node, and
// that one runs npm for everything else.
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { INSTALLED } from './locked-packages.mjs';
import { bundledNode, isOld, lockedNode } from './node.mjs';
import { runNpm } from './npm.mjs';

/**
 * @typedef {object} NodeForNpm
 * @property {string} path
 * @property {string} version 'v24.21.0'
 * @property {boolean} isOld older than what Railhead needs, because no bundled one fits this machine
 */

/** Holds the bundled Node while npm fills node_modules. */
const FOLDER = '.railhead-node';

/**
 * Gives `work` the Node that npm is to run on.
 *
 * @param {string} root the checkout
 * @param {(pid: number) => void} started gets the process id of every npm
 * @param {(node: NodeForNpm) => Promise<void>} work
 */
export async function withNodeForNpm(root, started, work) {
  const own = { path: process.execPath, version: process.version, isOld: isOld(process.version) };
  const bundled = lockedNode(root);
  if (!own.isOld || bundled === undefined) return work(own);
  const version = `v${bundled.version}`;
  // An install that was interrupted may have left a part of it.
  const installed = existsSync(join(root, INSTALLED)) ? bundledNode(root) : undefined;
  if (installed !== undefined) return work({ path: installed, version, isOld: false });
  const folder = join(root, FOLDER);
  try {
    rmSync(folder, { recursive: true, force: true }); // left by a set-up that was killed
    writeProject(folder, bundled);
    await runNpm(['ci', '--ignore-scripts', '--loglevel=error', '--no-audit', '--no-fund'], {
      cwd: folder,
      node: own,
      started,
    });
    await work({ path: join(folder, 'node_modules', bundled.name, 'bin', 'node'), version, isOld: false });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * A project with that one package, locked as in ours.
 *
 * @param {string} folder
 * @param {import('./node.mjs').LockedNode} bundled
 */
function writeProject(folder, { name, version, entry }) {
  const project = {
    name: 'railhead-node',
    version: '0.0.0',
    private: true,
    dependencies: { [name]: version },
  };
  const packages = { '': project, [`node_modules/${name}`]: entry };
  const lock = { name: project.name, version: project.version, lockfileVersion: 3, requires: true, packages };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify(project));
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock));
}
