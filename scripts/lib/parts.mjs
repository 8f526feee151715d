// Real programs that the tests run against: PostgreSQL and the like. What the system has is used; what it
// lacks comes from Debian's archive, by the machine's own apt, unpacked into a cache outside the checkout:
// nothing is installed, no service starts, and it works without being root.
//
//   RAILHEAD_CACHE=DIR       where unpacked parts are kept
//   RAILHEAD_NO_APT=1        fetch nothing
//   RAILHEAD_PARTS=unpacked  pretend that the system has none of them (and is a minimal Debian)
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { cacheFolder, folders, newestFirst, withTempFolder } from './cache.mjs';
import {
  aptReleases,
  aptSettings,
  debianMirror,
  debianSource,
  firstError,
  HANDS_OFF,
  hasApt,
  minimalStatus,
  privateLists,
  privateSources,
  refresh,
  unpack,
} from './debian.mjs';
import { installDebianPackages } from './debian-install.mjs';
import { errorCode, errorText } from './files.mjs';
import { isProgram, onPath, run } from './run.mjs';
import { noteForRun } from './run-notes.mjs';

/**
 * @typedef {object} Part something to run
 * @property {string} path the program, or the folder of its programs (see the table)
 * @property {Record<string, string>} env what its processes need in their environment
 * @property {string[]} loader what goes before a program of it on the command line, mostly nothing
 * @property {string} version
 * @property {'system' | 'unpacked' | 'installed'} source
 */

/**
 * @typedef {object} PartSpec
 * @property {string} what its name for a person
 * @property {string} why what needs it
 * @property {string[]} packages Debian packages to ask for
 * @property {string} [suite] the Debian release to take them from, when the machine's own has none that fits
 * @property {string} [base] the release that `suite` only adds to, as backports do
 * @property {RegExp} main the package whose version names the cached folder
 * @property {RegExp} [skip] packages of the dependency closure that it runs without
 * @property {true} [ownLibrary] it is from a newer release than most machines have, and brings its own C library
 * @property {true} [install] it can't run unpacked and has to be installed for real
 * @property {(root: string) => string[]} find candidates for `path`, best first; root is '' for the system,
 *   else an unpacked tree
 * @property {(path: string) => [program: string, ...args: string[]]} probe prints the version and succeeds if
 *   the part can run
 * @property {RegExp} version the first group is the version, in what `probe` prints; no match: not usable
 */

/** @typedef {(line: string) => void} Log */

/** What systemd's packages depend on, and its programs do without. */
const ONLY_FOR_A_RUNNING_SYSTEM =
  /^(base-files|dbus\S*|dmsetup|gcc-\d+-base|libgdbm\S*|libsemanage\S*|libsepol\d+|mawk|openssl-provider-legacy|systemd-dev|tar)$/;

/** @satisfies {Record<string, PartSpec>} */
const PARTS = {
  /** path: the folder of initdb, postgres, psql … */
  postgres: {
    what: 'PostgreSQL',
    why: 'the store is tested on it',
    packages: ['postgresql'],
    main: /^postgresql-\d+$/,
    // The wrappers are Perl and for clusters of the system. Without LLVM there is no JIT: run with jit=off.
    skip: /^(postgresql|postgresql-(client-)?common|libllvm\S+|libz3-4)$/,
    find: (root) => [
      ...newestFirst(folders(join(root || '/', 'usr/lib/postgresql'))).map((version) => join(version, 'bin')),
      ...(root ? [] : onPath('initdb').map(dirname)),
    ],
    probe: (path) => [join(path, 'postgres'), '--version'],
    version: /PostgreSQL\) (\S+)/,
  },
  /** path: the plugin's program, which also runs by itself: `<path> -f docker-compose.yml config` */
  compose: {
    what: 'Docker Compose',
    why: 'docker-compose.yml is checked with it',
    packages: ['docker-compose'],
    suite: 'trixie', // the first with Compose 2
    main: /^docker-compose$/,
    find: (root) => [
      ...['usr/local/lib', 'usr/local/libexec', 'usr/lib', 'usr/libexec'].map((folder) =>
        join(root || '/', folder, 'docker/cli-plugins/docker-compose'),
      ),
      ...(root ? [] : [join(homedir(), '.docker/cli-plugins/docker-compose'), ...onPath('docker-compose')]),
    ],
    probe: (path) => [path, 'version', '--short'],
    version: /^v?((?:[2-9]|\d\d)\.\S+)/m, // Compose 1 is another program, in Python
  },
  /** path: the client `tftp`; other packages have another one of that name */
  tftpHpa: {
    what: 'tftp-hpa',
    why: 'TFTP is tested with this client',
    packages: ['tftp-hpa'],
    main: /^tftp-hpa$/,
    find: (root) => candidates(root, 'tftp'),
    probe: (path) => [path, '-V'],
    version: /^tftp-hpa ([^\s,]+)/,
  },
  /** path: the client, a version that has windows */
  atftp: {
    what: 'atftp',
    why: 'TFTP is tested with this client',
    packages: ['atftp'],
    main: /^atftp$/,
    find: (root) => candidates(root, 'atftp'),
    probe: (path) => ['/bin/sh', '-c', '"$0" --version 2>&1', path],
    version: /^atftp-(0\.(?:[89]|\d\d)\S*)/,
  },
  /** path: the program, one that knows tftp:// */
  curl: {
    what: 'curl',
    why: 'TFTP is tested with this client',
    packages: ['curl'],
    main: /^curl$/,
    find: (root) => candidates(root, 'curl'),
    probe: (path) => [path, '--version'],
    version: /^curl (\S+)[\s\S]*^Protocols:.* tftp/m,
  },
  /** path: the program: `<path> tftp …` */
  busybox: {
    what: 'busybox',
    why: 'TFTP is tested with its client',
    packages: ['busybox-static'],
    main: /^busybox-static$/,
    find: (root) => candidates(root, 'busybox'),
    probe: (path) => [path],
    version: /^BusyBox v(\S+)[\s\S]*\btftp\b/,
  },
  /** path: the server `in.tftpd` */
  tftpdHpa: {
    what: 'tftpd-hpa',
    why: 'the TFTP bench compares with it',
    packages: ['tftpd-hpa'],
    main: /^tftpd-hpa$/,
    find: (root) => serverCandidates(root, 'in.tftpd'),
    probe: (path) => [path, '-V'],
    version: /^tftp-hpa ([^\s,]+)/,
  },
  /** path: the server `in.tftpd`, one that has windows */
  tftpdHpaNew: {
    what: 'tftpd-hpa 7',
    why: 'the TFTP bench compares with it',
    packages: ['tftpd-hpa', 'systemd-standalone-sysusers'],
    suite: 'forky',
    main: /^tftpd-hpa$/,
    skip: /^(systemd-\S+|gcc-\d+-base|libc-gconv-\S+)$/,
    ownLibrary: true,
    find: (root) => serverCandidates(root, 'in.tftpd'),
    probe: (path) => [path, '-V'],
    version: /^tftp-hpa ((?:[7-9]|\d\d)[^\s,]*)/,
  },
  /** path: the server */
  atftpd: {
    what: 'atftpd',
    why: 'the TFTP bench compares with it',
    packages: ['atftpd'],
    main: /^atftpd$/,
    find: (root) => serverCandidates(root, 'atftpd'),
    probe: (path) => ['/bin/sh', '-c', '"$0" --version 2>&1', path],
    version: /^atftp-(\S+)/,
  },
  /** path: the server, one that has windows */
  dnsmasqNew: {
    what: 'dnsmasq 2.93',
    why: 'the TFTP bench compares with it',
    packages: ['dnsmasq-base', 'systemd-standalone-sysusers'],
    suite: 'forky',
    main: /^dnsmasq-base$/,
    skip: /^(systemd-\S+|gcc-\d+-base|libc-gconv-\S+)$/,
    ownLibrary: true,
    find: (root) => serverCandidates(root, 'dnsmasq'),
    probe: (path) => [path, '--version'],
    version: /^Dnsmasq version (2\.(?:9[3-9]|\d{3})\S*)/,
  },
  /** path: the program; it wants a configuration of its own (-c, -p) */
  nginx: {
    what: 'nginx',
    why: 'big files over HTTP are measured against it',
    packages: ['nginx'],
    main: /^nginx(-core)?$/,
    // For the service of an installed system.
    skip: /^(nginx-common|iproute2|libbpf\S+|libelf\S+|libmnl0|libxtables12|libcap2-bin)$/,
    find: (root) => (root ? [join(root, 'usr/sbin/nginx')] : [...onPath('nginx'), '/usr/sbin/nginx']),
    probe: (path) => ['/bin/sh', '-c', '"$0" -v 2>&1', path],
    version: /^nginx version: nginx\/(\S+)/m,
  },
  /** path: the server */
  dnsmasq: {
    what: 'dnsmasq',
    why: 'the TFTP bench compares with it, and virtual machines get their addresses from it',
    packages: ['dnsmasq-base'],
    main: /^dnsmasq-base$/,
    find: (root) => serverCandidates(root, 'dnsmasq'),
    probe: (path) => [path, '--version'],
    version: /^Dnsmasq version (\S+)/,
  },
  /** path: the program. Its firmware and its modules are below the same root. */
  qemu: {
    what: 'QEMU',
    why: 'virtual machines boot from the product in it',
    packages: ['qemu-system-x86', 'ipxe-qemu', 'seabios'],
    main: /^qemu-system-x86$/,
    find: (root) => candidates(root, 'qemu-system-x86_64'),
    probe: (path) => [path, '--version'],
    version: /^QEMU emulator version (\S+)/,
  },
  /** path: the firmware's code; its empty variables are beside it */
  ovmf: {
    what: 'OVMF',
    why: 'virtual machines with UEFI boot from the product',
    packages: ['ovmf'],
    main: /^ovmf$/,
    find: (root) => [join(root || '/', 'usr/share/OVMF/OVMF_CODE_4M.fd')],
    probe: (path) => ['/bin/sh', '-c', 'test -s "$0" && echo 4M', path],
    version: /^(4M)$/m,
  },
  /** path: the kernel; its modules are below the same root */
  guestKernel: {
    what: 'kernel for virtual machines',
    why: 'virtual machines boot it from the product',
    packages: ['linux-image-cloud-amd64'],
    main: /^linux-image-\d\S*-cloud-amd64$/,
    skip: /^(?!linux-image-\d)/,
    find: (root) => kernels(root),
    probe: (path) => ['/bin/sh', '-c', 'test -s "$0" && echo "$0"', path],
    version: /vmlinuz-(\S+)/,
  },
  /** path: the program that runs in an initrd */
  ignition: {
    what: 'Ignition',
    why: 'virtual machines take their configuration with it',
    packages: ['ignition'],
    main: /^ignition$/,
    skip: /^(?!(ignition|libblkid1)$)/,
    find: (root) => [join(root || '/', 'usr/lib/dracut/modules.d/30ignition/ignition')],
    probe: (path) => [path, '--version'],
    version: /^Ignition (?:Debian )?v?(\S+)/m,
  },
  /** path: the program */
  etcd: {
    what: 'etcd',
    why: 'a real Kubernetes API keeps what it is told in it',
    packages: ['etcd-server'],
    suite: 'trixie', // the first with 3.5, which Kubernetes wants
    main: /^etcd-server$/,
    ownLibrary: true,
    find: (root) => candidates(root, 'etcd'),
    probe: (path) => [path, '--version'],
    version: /^etcd Version: (3\.(?:[5-9]|\d\d)\.\S+)/m,
  },
  /** path: the program */
  mksquashfs: {
    what: 'mksquashfs',
    why: 'sysext images are built with it',
    packages: ['squashfs-tools'],
    main: /^squashfs-tools$/,
    find: (root) => candidates(root, 'mksquashfs'),
    probe: (path) => ['/bin/sh', '-c', '"$0" -version', path],
    version: /^mksquashfs version (\S+)/m,
  },
  /** path: the program */
  sfdisk: {
    what: 'sfdisk',
    why: 'what hosts do to their disks is done to a real one',
    packages: ['fdisk'],
    main: /^fdisk$/,
    find: (root) => [
      ...(root ? [] : onPath('sfdisk')),
      ...['usr/sbin', 'sbin'].map((dir) => join(root || '/', dir, 'sfdisk')),
    ],
    probe: (path) => [path, '--version'],
    version: /^sfdisk from util-linux (\S+)/m,
  },
  /** path: `udevadm`; its rules are below the same root */
  udev: {
    what: 'udev',
    why: 'virtual machines with a data disk need it',
    packages: ['udev'],
    main: /^udev$/,
    skip: /^(?!(udev|libkmod2)$)/,
    find: (root) => candidates(root, 'udevadm'),
    probe: (path) => [path, '--version'],
    version: /^(\d+)/,
  },
  /** path: the program */
  shellcheck: {
    what: 'shellcheck',
    why: 'scripts that run on hosts are checked with it',
    packages: ['shellcheck'],
    main: /^shellcheck$/,
    find: (root) => candidates(root, 'shellcheck'),
    probe: (path) => [path, '--version'],
    version: /^version: (\S+)/m,
  },
  /** path: the shell in a tree that is a whole system for flatcar-install, with udev: made to be booted */
  installTools: {
    what: 'system for flatcar-install',
    why: 'the real one writes a disk in it',
    packages:
      'bash coreutils util-linux mount grep sed gawk gpg gpg-agent dirmngr wget curl bzip2 btrfs-progs udev kmod systemd-standalone-sysusers'.split(
        ' ',
      ),
    suite: 'trixie',
    main: /^util-linux$/,
    skip: ONLY_FOR_A_RUNNING_SYSTEM,
    ownLibrary: true,
    find: (root) => (root ? [join(root, 'usr/bin/bash')] : []),
    probe: (path) => [path, '--version'],
    version: /^GNU bash, version (\S+)/m,
  },
  /** path: the program in a tree that is a whole system for it, with gpg: made to be run by chroot */
  sysupdate254: {
    what: 'systemd-sysupdate 254',
    why: 'the sysext feed is tested with it',
    packages: ['systemd-container', 'gpg'],
    suite: 'bookworm-backports',
    base: 'bookworm',
    main: /^systemd-container$/,
    skip: ONLY_FOR_A_RUNNING_SYSTEM,
    ownLibrary: true,
    find: (root) => (root ? [join(root, 'lib/systemd/systemd-sysupdate')] : []),
    probe: (path) => [path, '--version'],
    version: /^systemd (254)\b/m,
  },
  /** path: as above */
  sysupdate257: {
    what: 'systemd-sysupdate 257',
    why: 'the sysext feed is tested with it',
    packages: ['systemd-container', 'gpg'],
    suite: 'trixie',
    main: /^systemd-container$/,
    skip: ONLY_FOR_A_RUNNING_SYSTEM,
    ownLibrary: true,
    find: (root) => (root ? [join(root, 'usr/lib/systemd/systemd-sysupdate')] : []),
    probe: (path) => [path, '--version'],
    version: /^systemd (257)\b/m,
  },
};

/**
 * Where a program of that name can be.
 *
 * @param {string} root '' for the system, else an unpacked tree
 * @param {string} name
 */
function candidates(root, name) {
  return root ? ['usr/bin', 'bin'].map((folder) => join(root, folder, name)) : onPath(name);
}

/**
 * @param {string} root '' for the system, else an unpacked tree
 * @param {string} name
 */
function serverCandidates(root, name) {
  const folder = join(root || '/', 'usr/sbin');
  return [...(root ? [] : onPath(name)), join(folder, name)];
}

/**
 * Kernels that are made for virtual machines, newest first.
 *
 * @param {string} root '' for the system, else an unpacked tree
 */
function kernels(root) {
  const folder = join(root || '/', 'boot');
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return newestFirst(
    names.filter((name) => /^vmlinuz-.*-cloud-amd64$/.test(name)).map((name) => join(folder, name)),
  );
}

/** Only of use to an installed system: scripts of packages, accounts, Perl, files with a fixed place. */
const ONLY_INSTALLED =
  /^(adduser|debconf|dpkg|init-system-helpers|lib\S+-perl|libc-l10n|libpam-(modules|runtime)\S*|libperl\S+|locales|lsb-\S+|netbase|openssl|passwd|perl\S*|readline-common|sensible-utils|ssl-cert|sysvinit-utils|tzdata|ucf|usrmerge)$/;

/** Programs run with the system's own loader, which fits one C library only; or with that of their own library. */
const C_LIBRARY = /^(libc6|libc-bin)$/;

/**
 * Finds or fetches parts. One that can't be had is undefined, after one line that says so.
 *
 * @template {keyof typeof PARTS} Name
 * @param {Name[]} wanted
 * @param {{ log?: Log }} [options]
 * @returns {Promise<{ [name in Name]: Part | undefined }>}
 */
export async function ensureParts(wanted, { log = (line) => process.stderr.write(`${line}\n`) } = {}) {
  /** @type {Partial<{ [name in Name]: Part | undefined }>} */
  const parts = {};
  for (const name of wanted) {
    const part = await ensurePart(name, PARTS[name], log);
    if (part) noteForRun('version', `${PARTS[name].what} ${describeVersion(part)}`);
    parts[name] = part;
  }
  return /** @type {{ [name in Name]: Part | undefined }} */ (parts);
}

/** @param {Part} part */
function describeVersion({ version, source }) {
  return `${version} (${source === 'unpacked' ? 'fetched' : source})`;
}

/**
 * @param {string} name
 * @param {PartSpec} spec
 * @param {Log} log
 * @returns {Promise<Part | undefined>}
 */
async function ensurePart(name, spec, log) {
  const forced = process.env.RAILHEAD_PARTS === 'unpacked' && !spec.install;
  try {
    const there = forced ? undefined : await usable(spec, '', 'system');
    if (there) return there;
    const kept = join(cacheFolder(), 'parts', name);
    const cached = spec.install ? undefined : await firstUsable(spec, kept);
    if (cached) return cached;
    if (process.env.RAILHEAD_NO_APT === '1') throw new Error('RAILHEAD_NO_APT is set');
    if (!(await hasApt())) throw new Error('this system has no apt-get');
    if (spec.install) {
      await installDebianPackages(spec.packages, { log });
      const installed = await usable(spec, '', 'installed');
      if (installed) return installed;
      throw new Error(`it does not run although ${spec.packages.join(', ')} is installed`);
    }
    return await fetchPart(spec, kept, forced, log);
  } catch (error) {
    const why = errorText(error).replace(/\s*\n\s*/g, ' ');
    const what = `${name}: no ${spec.what} (${spec.why}): ${why}`;
    log(`SKIPPED: ${what}. Install it (apt-get install ${spec.packages.join(' ')}) and run this again.`);
    noteForRun('skip', what);
    return undefined;
  }
}

/**
 * @param {PartSpec} spec
 * @param {string} root '' or an unpacked tree
 * @param {Part['source']} source
 * @returns {Promise<Part | undefined>}
 */
async function usable(spec, root, source) {
  const libraries = root ? libraryFolders(root).join(delimiter) : '';
  const loader = root && spec.ownLibrary ? loaderOf(root) : [];
  /** @type {Record<string, string>} */
  const env = libraries && loader.length === 0 ? { LD_LIBRARY_PATH: libraries } : {};
  for (const path of spec.find(root)) {
    const [program, ...args] = spec.probe(path);
    if (!isProgram(program)) continue;
    const [first = program, ...rest] = [...loader, program, ...args];
    const { code, out } = await run(first, rest, { env, seconds: 20 });
    const version = code === 0 ? spec.version.exec(out)?.[1] : undefined;
    if (version !== undefined) return { path, env, loader, version, source };
  }
  return undefined;
}

/**
 * @param {PartSpec} spec
 * @param {string} kept
 */
async function firstUsable(spec, kept) {
  for (const root of newestFirst(folders(kept))) {
    const part = await usable(spec, root, 'unpacked');
    if (part) return part;
  }
  return undefined;
}

/**
 * Downloads what the system lacks and unpacks it beside its final place, then renames it: a folder that has
 * its name is complete.
 *
 * @param {PartSpec} spec
 * @param {string} kept
 * @param {boolean} forced
 * @param {Log} log
 * @returns {Promise<Part>}
 */
async function fetchPart(spec, kept, forced, log) {
  mkdirSync(kept, { recursive: true });
  return withTempFolder(kept, async (temp) => {
    const debs = join(temp, 'debs');
    const tree = join(temp, 'tree');
    mkdirSync(debs);
    const apt = await aptOptions(spec, temp, forced);
    const got = await downloadMissing(spec, apt, debs, log);
    for (const deb of readdirSync(debs)) await unpack(join(debs, deb), tree);
    if (!(await usable(spec, tree, 'unpacked'))) {
      throw new Error(`what was unpacked does not run: ${await complaint(spec, tree)}`);
    }
    chmodSync(tree, 0o755); // other users run it too
    const place = join(kept, got.replaceAll(/[^\w.+~-]/g, '_'));
    const part = await moveInto(spec, tree, place);
    if (!part) throw new Error(`what was unpacked does not run from ${place}`);
    return part;
  });
}

/**
 * @param {PartSpec} spec
 * @param {string} tree
 * @param {string} place
 */
async function moveInto(spec, tree, place) {
  // One that is there and does not run is of no use to anybody; one that runs was unpacked at the same time.
  if (existsSync(place) && !(await usable(spec, place, 'unpacked'))) {
    rmSync(place, { recursive: true, force: true });
  }
  try {
    renameSync(tree, place);
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes(errorCode(error))) throw error;
  }
  return usable(spec, place, 'unpacked');
}

/**
 * What the programs say when they don't run.
 *
 * @param {PartSpec} spec
 * @param {string} root
 */
async function complaint(spec, root) {
  for (const path of spec.find(root)) {
    const [program, ...args] = spec.probe(path);
    if (!isProgram(program)) continue;
    const { out, err } = await run(program, args, {
      env: { LD_LIBRARY_PATH: libraryFolders(root).join(delimiter) },
      seconds: 20,
    });
    return (err || out).trim().split('\n')[0];
  }
  return 'its programs are not in the packages';
}

/**
 * How apt is told to look: at the machine's own lists first, then at fresh ones that only we use.
 *
 * @param {PartSpec} spec
 * @param {string} temp
 * @param {boolean} forced
 * @returns {Promise<{ options: string[], refreshed: string[], mustRefresh: boolean }>}
 */
async function aptOptions(spec, temp, forced) {
  const options = [...HANDS_OFF];
  if (forced || spec.ownLibrary) {
    const status = join(temp, 'status');
    // With a library of its own it can't rely on anything that the system has.
    writeFileSync(status, spec.ownLibrary ? '' : minimalStatus(readFileSync('/var/lib/dpkg/status', 'utf8')));
    options.push(...aptSettings({ 'Dir::State::status': status }));
  }
  const refreshed = privateLists(temp);
  const foreign =
    spec.suite === undefined
      ? undefined
      : await foreignSources(spec.suite, spec.base, [...options, ...refreshed]);
  if (foreign !== undefined) refreshed.push(...privateSources(temp, foreign));
  // Backports are only taken by those who ask for them.
  if (spec.base !== undefined) refreshed.push(...aptSettings({ 'APT::Default-Release': `${spec.suite}` }));
  return { options, refreshed, mustRefresh: foreign !== undefined };
}

/**
 * Sources for another Debian release on the mirror this machine is set up for; undefined when the machine
 * has that release already.
 *
 * @param {string} suite
 * @param {string | undefined} base the release that it adds to
 * @param {string[]} ownLists options for lists of our own, used when the machine has none
 */
async function foreignSources(suite, base, ownLists) {
  let releases = await aptReleases([]);
  if (debianMirror(releases) === undefined) {
    await refresh(ownLists);
    releases = await aptReleases(ownLists);
  }
  const isKnown = releases.some(({ origin, codename }) => origin === 'Debian' && codename === suite);
  if (isKnown && base === undefined) return undefined;
  const mirror = debianMirror(releases);
  if (mirror === undefined) {
    throw new Error(`it is in Debian ${suite}, and this machine's apt knows no Debian mirror`);
  }
  return [suite, ...(base === undefined ? [] : [base])].map((one) =>
    debianSource({ uri: mirror.uri, suite: one }),
  );
}

/**
 * @param {PartSpec} spec
 * @param {{ options: string[], refreshed: string[], mustRefresh: boolean }} apt
 * @param {string} debs
 * @param {Log} log
 * @returns {Promise<string>} version and architecture
 */
async function downloadMissing(spec, { options, refreshed, mustRefresh }, debs, log) {
  if (!mustRefresh) {
    try {
      return await download(spec, options, debs, log);
    } catch (error) {
      if (error instanceof CantRunUnpacked) throw error;
      // Lists that are missing or old: get new ones, for us alone.
    }
  }
  const fresh = [...options, ...refreshed];
  const unfetched = await refresh(fresh);
  try {
    return await download(spec, fresh, debs, log);
  } catch (error) {
    if (unfetched === undefined || error instanceof CantRunUnpacked) throw error;
    throw new Error(`apt-get update: ${unfetched}`);
  }
}

class CantRunUnpacked extends Error {}

/**
 * @param {PartSpec} spec
 * @param {string[]} options
 * @param {string} debs
 * @param {Log} log
 */
async function download(spec, options, debs, log) {
  const install = ['-qq', '-s', ...options, 'install', '--no-install-recommends', ...spec.packages];
  const plan = await run('apt-get', install, { seconds: 120 });
  if (plan.code !== 0) throw new Error(`apt-get finds no way to get it: ${firstError(plan.err)}`);
  const closure = [...plan.out.matchAll(/^Inst (\S+) (?:\[\S+\] )?\((\S+) .*?\[(\w+)\]\)/gm)].map(
    ([, name = '', version = '', architecture = '']) => ({ name, version, architecture }),
  );
  const main = closure.find(({ name }) => spec.main.test(name));
  if (!main) throw new Error('its packages are installed, and it does not run');
  if (!spec.ownLibrary && closure.some(({ name }) => C_LIBRARY.test(name))) {
    throw new CantRunUnpacked('it needs another C library than this system has');
  }
  const needed = closure.filter(({ name }) => !ONLY_INSTALLED.test(name) && !spec.skip?.test(name));
  const size = needed.length > 1 ? ` (${needed.length} packages)` : '';
  log(`Fetching ${spec.what}, because ${spec.why}: ${main.name} ${main.version}${size}…`);
  for (const deb of readdirSync(debs)) rmSync(join(debs, deb));
  const names = needed.map(({ name, version }) => `${name}=${version}`);
  const { code, err } = await run('apt-get', ['-qq', ...options, 'download', ...names], {
    cwd: debs,
    seconds: 900,
  });
  if (code !== 0) throw new Error(`the download failed: ${firstError(err)}`);
  return `${main.version}_${main.architecture}`;
}

/**
 * @param {string} root an unpacked tree
 * @returns {string[]}
 */
function libraryFolders(root) {
  return ['usr/lib', 'lib'].flatMap((folder) =>
    folders(join(root, folder))
      .filter((path) => /-linux-gnu\w*$/.test(path))
      // systemd has a library that only its own programs use.
      .flatMap((path) => [path, ...folders(path).filter((below) => below.endsWith('/systemd'))]),
  );
}

/**
 * @param {string} root an unpacked tree with a C library
 * @returns {string[]} what starts its programs with that library
 */
function loaderOf(root) {
  const libraries = libraryFolders(root);
  for (const folder of libraries) {
    const name = readdirSync(folder).find((file) => /^ld-linux\S*\.so\.\d+$/.test(file));
    if (name !== undefined) return [join(folder, name), '--library-path', libraries.join(delimiter)];
  }
  return [];
}
