// Programs that tests and the scripts of hosts call by name: where the system lacks one, a fetched one is put on the PATH.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { ensureParts } from './parts.mjs';
import { onPath } from './run.mjs';

const TOOLS = /** @type {const} */ ({
  curl: 'curl',
  iproute2: 'ip',
  sshKeygen: 'ssh-keygen',
  xz: 'xz',
  bzip2: 'bzip2',
  sfdisk: 'sfdisk',
  make: 'make',
});

/**
 * @param {string} folder where to put what is fetched
 * @returns {Promise<{ PATH: string, RAILHEAD_TEST_TOOLS: string }>} the environment for tests
 */
export async function testTools(folder) {
  mkdirSync(folder, { recursive: true });
  // Where administrators' programs are, which an ordinary user's PATH lacks on Debian.
  const PATH = [process.env.PATH, '/usr/sbin', '/sbin', folder].join(delimiter);
  const missing = Object.entries(TOOLS).filter(([, program]) => onPath(program, PATH).length === 0);
  const parts = await ensureParts(missing.map(([part]) => /** @type {keyof typeof TOOLS} */ (part)));
  for (const [name, program] of missing) {
    const part = parts[/** @type {keyof typeof TOOLS} */ (name)];
    if (part === undefined) continue;
    const file = join(folder, program);
    writeFileSync(file, wrapper(part));
    chmodSync(file, 0o755);
  }
  return { PATH, RAILHEAD_TEST_TOOLS: folder };
}

/**
 * A fetched program needs the libraries that were fetched with it.
 *
 * @param {import('./parts.mjs').Part} part
 */
function wrapper({ path, env, loader }) {
  const settings = Object.entries(env).map(([name, value]) => `${name}='${value}'`);
  return `#!/bin/sh\nexec ${['env', ...settings, ...loader, path].join(' ')} "$@"\n`;
}
