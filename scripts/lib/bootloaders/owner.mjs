// Which installed package a file belongs to, whatever the distribution.
import { run } from '../run.mjs';

/** @typedef {{ package: string, version: string }} Owner */

/**
 * One line of output for each file that belongs to a package.
 *
 * @type {Array<{ program: string, args: string[], parse: (out: string, paths: string[]) => Map<string, Owner> }>}
 */
const MANAGERS = [
  { program: 'rpm', args: ['-qf', '--qf', '%{NAME} %{VERSION}-%{RELEASE}\\n'], parse: parseRpm },
  { program: 'pacman', args: ['-Qo'], parse: parsePacman },
  { program: 'apk', args: ['info', '--who-owns'], parse: parseApk },
];

/**
 * @param {string[]} paths
 * @returns {Promise<Map<string, Owner>>} what could be found out
 */
export async function packagesOwning(paths) {
  if (paths.length === 0) return new Map();
  const debian = await run('dpkg-query', ['-S', ...paths], { seconds: 30 });
  const names = parseDpkgOwners(debian.out);
  if (names.size > 0) {
    const show = ['-W', '-f', '${binary:Package} ${Version}\\n', ...new Set(names.values())];
    return withVersions(names, (await run('dpkg-query', show, { seconds: 30 })).out);
  }
  for (const { program, args, parse } of MANAGERS) {
    const owners = parse((await run(program, [...args, ...paths], { seconds: 30 })).out, paths);
    if (owners.size > 0) return owners;
  }
  return new Map();
}

/**
 * @param {string} out `pxelinux: /usr/lib/PXELINUX/lpxelinux.0`
 * @returns {Map<string, string>}
 */
export function parseDpkgOwners(out) {
  return new Map(
    [...out.matchAll(/^([^\s,]+)(?:, \S+)*: (\/.*)$/gm)].map(([, name = '', path = '']) => [path, name]),
  );
}

/**
 * @param {Map<string, string>} names
 * @param {string} out `pxelinux 3:6.04`, with `:amd64` at the name where several can be installed
 * @returns {Map<string, Owner>}
 */
export function withVersions(names, out) {
  const versions = new Map(
    [...out.matchAll(/^(\S+) (\S+)$/gm)].map(([, name = '', version = '']) => [name, version]),
  );
  return new Map(
    [...names].map(([path, name]) => [
      path,
      { package: name.replace(/:.*/, ''), version: versions.get(name) ?? 'unknown' },
    ]),
  );
}

/**
 * @param {string} out in the order of the paths, with a sentence for a file that nobody owns
 * @param {string[]} paths
 * @returns {Map<string, Owner>}
 */
export function parseRpm(out, paths) {
  const lines = out.split('\n');
  return new Map(
    paths.flatMap((path, index) => {
      const [, name, version] = /^(\S+) (\d\S*-\S+)$/.exec(lines[index] ?? '') ?? [];
      return name && version ? [[path, { package: name, version }]] : [];
    }),
  );
}

/**
 * @param {string} out `/usr/share/ipxe/x86_64/ipxe.efi is owned by ipxe 2.0.0-1`
 * @returns {Map<string, Owner>}
 */
export function parsePacman(out) {
  return new Map(
    [...out.matchAll(/^(\/.*) is owned by (\S+) (\S+)$/gm)].map(([, path = '', name = '', version = '']) => [
      path,
      { package: name, version },
    ]),
  );
}

/**
 * @param {string} out `/usr/share/syslinux/menu.c32 is owned by syslinux-6.04_pre1-r15`
 * @returns {Map<string, Owner>}
 */
export function parseApk(out) {
  return new Map(
    [...out.matchAll(/^(\/.*) is owned by (\S+?)-(\d\S*)$/gm)].map(
      ([, path = '', name = '', version = '']) => [path, { package: name, version }],
    ),
  );
}
