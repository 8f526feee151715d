// Real programs that the tests run against: PostgreSQL and the like. What the system has is used; what it
// lacks comes from Debian's archive, by the machine's own apt, unpacked into a cache outside the checkout:
// nothing is installed, no service starts, and it works without being root.
//
// Of what was unpacked, the newest version that apt offers is used: an old one could hide that the next one fails.
//
//   RAILHEAD_CACHE=DIR       where unpacked parts are kept
//   RAILHEAD_NO_APT=1        fetch nothing, and use what was unpacked before
//   RAILHEAD_PARTS=unpacked  pretend that the system has none of them (and is a minimal Debian)
import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { cacheFolder, folders, newestFirst } from './cache.mjs';
import { errorText } from './files.mjs';
import { newestPart } from './part-fetch.mjs';
import { newestKept, usable } from './part-trees.mjs';
import { onPath } from './run.mjs';
import { noteForRun } from './run-notes.mjs';

/**
 * @typedef {object} Part something to run
 * @property {string} path the program, or the folder of its programs (see the table)
 * @property {Record<string, string>} env what its processes need in their environment
 * @property {string[]} loader what goes before a program of it on the command line, mostly nothing
 * @property {string} version
 * @property {string} [package] the version of its Debian package, when it is unpacked
 * @property {'system' | 'unpacked'} source
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
 * @property {true} [newest] take the one that apt offers even if the system has one
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
    why: 'hosts and tests fetch with it',
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
    newest: true,
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
      ...(root ? [] : ofSystem('sfdisk')),
      ...['usr/sbin', 'sbin'].map((dir) => join(root || '/', dir, 'sfdisk')),
    ],
    probe: (path) => [path, '--version'],
    version: /^sfdisk from util-linux (\S+)/m,
  },
  /** path: the program */
  make: {
    what: 'make',
    why: 'post-install steps can be run with it',
    packages: ['make'],
    main: /^make$/,
    find: (root) => candidates(root, 'make'),
    probe: (path) => [path, '--version'],
    version: /^GNU Make (\S+)/,
  },
  /** path: the Perl script */
  mmdebstrap: {
    what: 'mmdebstrap',
    why: '`npm run test:fresh` makes a minimal Debian with it',
    packages: ['mmdebstrap'],
    main: /^mmdebstrap$/,
    skip: /^(?!mmdebstrap$)/,
    find: (root) => candidates(root, 'mmdebstrap'),
    probe: (path) => ['/usr/bin/perl', path, '--version'],
    version: /^mmdebstrap (\S+)/m,
  },
  /** path: the program `ip` */
  iproute2: {
    what: 'iproute2',
    why: 'tests make networks of their own with it',
    packages: ['iproute2'],
    main: /^iproute2$/,
    skip: /^libcap2-bin$/,
    find: (root) => [
      ...(root ? [] : ofSystem('ip')),
      ...['usr/sbin', 'sbin', 'usr/bin', 'bin'].map((folder) => join(root || '/', folder, 'ip')),
    ],
    probe: (path) => [path, '-V'],
    version: /^ip utility, iproute2-([^\s,]+)/,
  },
  /** path: the program */
  sshKeygen: {
    what: 'ssh-keygen',
    why: 'hosts make their SSH keys with it',
    packages: ['openssh-client'],
    main: /^openssh-client$/,
    find: (root) => candidates(root, 'ssh-keygen'),
    // Only `ssh`, which is beside it, can tell the version.
    probe: (path) => ['/bin/sh', '-c', '"${0%-keygen}" -V 2>&1', path],
    version: /^OpenSSH_([^\s,]+)/m,
  },
  /** path: the program */
  xz: {
    what: 'xz',
    why: 'kernel modules are packed with it',
    packages: ['xz-utils'],
    main: /^xz-utils$/,
    find: (root) => candidates(root, 'xz'),
    probe: (path) => [path, '--version'],
    version: /^xz \(XZ Utils\) (\S+)/,
  },
  /** path: the program */
  bzip2: {
    what: 'bzip2',
    why: 'disk images are packed with it',
    packages: ['bzip2'],
    main: /^bzip2$/,
    find: (root) => candidates(root, 'bzip2'),
    probe: (path) => ['/bin/sh', '-c', '"$0" --help 2>&1', path],
    version: /Version ([\d.]+\d)/,
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
  return root ? ['usr/bin', 'bin'].map((folder) => join(root, folder, name)) : ofSystem(name);
}

/**
 * Programs on the PATH that the system has: not the scripts that `testTools` put there.
 *
 * @param {string} name
 */
function ofSystem(name) {
  return onPath(name).filter((path) => dirname(path) !== process.env.RAILHEAD_TEST_TOOLS);
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
    if (part) noteForRun('version', describe(PARTS[name], part));
    parts[name] = part;
  }
  return /** @type {{ [name in Name]: Part | undefined }} */ (parts);
}

/**
 * @param {PartSpec} spec
 * @param {Part} part
 */
function describe({ what }, { version, source, package: packageVersion }) {
  const from = source === 'unpacked' ? `fetched: ${packageVersion}` : source;
  return `${what.endsWith(` ${version}`) ? what : `${what} ${version}`} (${from})`;
}

/**
 * @param {string} name
 * @param {PartSpec} spec
 * @param {Log} log
 * @returns {Promise<Part | undefined>}
 */
async function ensurePart(name, spec, log) {
  const forced = process.env.RAILHEAD_PARTS === 'unpacked';
  try {
    const ofSystem = forced ? undefined : await usable(spec, '', 'system');
    if (ofSystem && !spec.newest) return ofSystem;
    const kept = join(cacheFolder(), 'parts', name);
    try {
      if (process.env.RAILHEAD_NO_APT === '1') throw new Error('RAILHEAD_NO_APT is set');
      return await newestPart(spec, kept, { forced, log });
    } catch (error) {
      const other = (await newestKept(spec, kept)) ?? ofSystem;
      if (other === undefined) throw error;
      const line = `MAY BE OLD: ${describe(spec, other)} is used: ${oneLine(error)}`;
      log(line);
      noteForRun('version', line);
      return other;
    }
  } catch (error) {
    const what = `${name}: no ${spec.what} (${spec.why}): ${oneLine(error)}`;
    log(`SKIPPED: ${what}. Install it (apt-get install ${spec.packages.join(' ')}) and run this again.`);
    noteForRun('skip', what);
    return undefined;
  }
}

/** @param {unknown} error */
function oneLine(error) {
  return errorText(error).replace(/\s*\n\s*/g, ' ');
}
