#!/usr/bin/env node
// The `railhead` command. Plain JavaScript that old Nodes parse too: it installs the locked packages when they are
// not there, then hands over to server/main.ts on a Node that is new enough.
import { spawn } from 'node:child_process';
import module from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { bootFolder, ensureBootloaders, startsServer } from './lib/ensure-bootloaders.mjs';
import { isOld, OLDEST_NODE } from './lib/node.mjs';
import { NODE_FLAGS } from './lib/node-flags.mjs';
import { bundledNode, installPackages, packagesAreStale } from './lib/packages.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const main = join(root, 'server', 'main.ts');
// Node keeps what it has compiled: commands start in two thirds of the time. Not in the temporary folder, where others
// could put something of theirs.
const compiled = process.env.NODE_COMPILE_CACHE ?? join(root, 'node_modules', '.cache', 'compiled');

try {
  if (packagesAreStale({ root, dev: false })) await installPackages({ root, dev: false });
  const args = process.argv.slice(2);
  if (startsServer(args)) await ensureBootloaders({ root, bootDir: bootFolder({ root, args }) });
  await handOver();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 4;
}

async function handOver() {
  // On a Node that is new enough there is nothing to start: one process less between the signals and the server.
  if (!isOld(process.version)) {
    module.enableCompileCache?.(compiled);
    await import(pathToFileURL(main).href);
    return;
  }
  const node = bundledNode(root);
  if (node === undefined) {
    throw new Error(
      `Railhead needs Node ${OLDEST_NODE} or later; this is ${process.version}, and none comes with npm for ${process.platform} ${process.arch}: install one.`,
    );
  }
  process.exitCode = await runNode(node);
}

/**
 * @param {string} node
 * @returns {Promise<number>}
 */
function runNode(node) {
  const child = spawn(node, [...NODE_FLAGS, main, ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { ...process.env, NODE_COMPILE_CACHE: compiled },
  });
  /** @type {NodeJS.Signals[]} */
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      if (signal === null) return resolve(code ?? 1);
      // Ended by a signal: end the same way, so that whoever started us sees it.
      for (const name of signals) process.removeAllListeners(name);
      process.kill(process.pid, signal);
    });
  });
}
