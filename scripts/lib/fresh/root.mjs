// A minimal Debian in a folder, made with the machine's own mirror and nothing of its packages.
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { aptReleases, debianMirror } from '../debian.mjs';
import { ensureParts } from '../parts.mjs';
import { run } from '../run.mjs';

const SUITE = 'bookworm';
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
const MAKE_SECONDS = 1200;

/** The unprivileged user in every root. */
export const USER = 'newcomer';

/**
 * @param {string} folder must not exist yet
 * @param {string[]} packages besides those that Debian can't be without
 */
export async function makeRoot(folder, packages) {
  const { mmdebstrap } = await ensureParts(['mmdebstrap']);
  if (mmdebstrap === undefined) throw new Error('mmdebstrap could not be fetched: see above');
  const args = [
    mmdebstrap.path,
    '--variant=minbase',
    `--include=${['ca-certificates', ...packages].join(',')}`,
    // The folder is thrown away: nobody has to wait for its disk.
    '--dpkgopt=force-unsafe-io',
    SUITE,
    folder,
    ...(await sources()),
  ];
  // It mounts /dev, /proc and /sys: in a namespace of its own, so that nothing stays when it is interrupted.
  const apart = ['--mount', '--propagation=private', '--fork', '--kill-child=KILL', 'perl'];
  const { code, err } = await run('unshare', [...apart, ...args], { seconds: MAKE_SECONDS });
  if (code !== 0) throw new Error(`mmdebstrap failed: ${err.trim().split('\n').slice(-3).join(' ')}`);
  await useMachinesNetwork(folder);
  const user = await run('chroot', [folder, 'useradd', '--create-home', '--shell', '/bin/sh', USER], {
    seconds: 20,
  });
  if (user.code !== 0) throw new Error(`useradd failed: ${user.err}`);
}

/** @returns {Promise<string[]>} lines for sources.list, on the mirror that this machine uses */
async function sources() {
  const releases = await aptReleases([]);
  const mirror = debianMirror(releases);
  if (mirror === undefined) throw new Error("this machine's apt has no Debian mirror: run apt-get update");
  const security = releases.find(
    ({ origin, codename }) => origin === 'Debian' && codename === `${SUITE}-security`,
  );
  return [
    `deb ${mirror.uri} ${SUITE} main`,
    `deb ${mirror.uri} ${SUITE}-updates main`,
    ...(security === undefined ? [] : [`deb ${security.uri} ${SUITE}-security main`]),
  ];
}

/**
 * How to reach the outside: names, proxy and certificates are the machine's.
 *
 * @param {string} folder
 */
async function useMachinesNetwork(folder) {
  for (const file of ['/etc/resolv.conf', '/etc/hosts', CERTIFICATES]) {
    if (existsSync(file)) copyFileSync(file, join(folder, file));
  }
  const { out } = await run('apt-config', ['dump', '--format', '%F "%v";%n', 'Acquire'], { seconds: 20 });
  const proxies = out.split('\n').filter((line) => /^Acquire::https?::Proxy\b/i.test(line));
  const settings = join(folder, 'etc/apt/apt.conf.d');
  mkdirSync(settings, { recursive: true });
  writeFileSync(join(settings, '99machine'), `${proxies.join('\n')}\n`);
}

/**
 * Removes a root, unless something is mounted in it: that may be this machine's own.
 *
 * @param {string} folder
 */
export function removeRoot(folder) {
  const mounted = readFileSync('/proc/self/mountinfo', 'utf8').includes(` ${folder}/`);
  if (!mounted) rmSync(folder, { recursive: true, force: true });
}

/**
 * Node.js from npm packages in place of Debian's.
 *
 * @param {string} folder
 * @param {string[]} packages with versions
 */
export async function installGlobally(folder, packages) {
  const prefix = join(folder, 'usr/local');
  const args = [
    'install',
    '--global',
    '--ignore-scripts',
    '--prefix',
    prefix,
    '--loglevel=error',
    ...packages,
  ];
  const { code, err } = await run('npm', args, { seconds: 300 });
  if (code !== 0) throw new Error(`npm install failed: ${err.trim().split('\n').at(-1)}`);
}

/** @returns {Promise<Record<string, string>>} what programs inside need to reach the outside */
export async function networkEnvironment() {
  const { out } = await run('npm', ['config', 'get', 'registry'], { seconds: 60 });
  const proxies = Object.entries(process.env).filter(([name]) => /^(https?|no|all)_proxy$/i.test(name));
  return {
    npm_config_registry: out.trim(),
    ...Object.fromEntries(proxies.map(([name, value]) => [name, value ?? ''])),
    ...(existsSync(CERTIFICATES) ? { NODE_EXTRA_CA_CERTS: CERTIFICATES } : {}),
  };
}
