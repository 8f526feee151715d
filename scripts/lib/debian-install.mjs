// Really installs Debian packages, for what can't run unpacked. Only root can, and only tests ask for it.
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { aptSettings, firstError } from './debian.mjs';
import { run } from './run.mjs';

const POLICY = '/usr/sbin/policy-rc.d';
const POLICY_TEXT =
  '#!/bin/sh\n# Railhead: no service starts while packages are installed for tests.\nexit 101\n';

/**
 * No service is started.
 *
 * @param {string[]} packages
 * @param {{ log: (line: string) => void }} options
 * @returns {Promise<void>}
 */
export async function installDebianPackages(packages, { log }) {
  if (process.getuid?.() !== 0) throw new Error(`only root can install ${packages.join(', ')}`);
  log(`Installing Debian packages on this system: ${packages.join(' ')}…`);
  const restore = forbidServices();
  try {
    const args = ['-qq', '-y', 'install', '--no-install-recommends', ...packages];
    const env = { DEBIAN_FRONTEND: 'noninteractive' };
    const wait = aptSettings({ 'DPkg::Lock::Timeout': '300' });
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
