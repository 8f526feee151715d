import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ensureParts, type Part } from '../../scripts/lib/parts.mjs';
import type { Ended } from './appliance.ts';
import { canMount } from './private-mounts.ts';
import { skipped } from './skipped.ts';
import { tempFolder } from './temp.ts';

/** One version of the real systemd, as a tree that is a whole system for its programs. */
export interface SystemdTree {
  version: string;
  root: string;
}

/** systemd's name for this machine. */
export const ARCH = process.arch === 'arm64' ? 'arm64' : 'x86-64';

/** Every systemd-sysupdate that can be had and run here; none after one line that says why. */
export async function systemdTrees(): Promise<SystemdTree[]> {
  if (process.env.RAILHEAD_TEST_PARTS === 'none' || !canMount) {
    skipped(
      'updates by the real systemd-sysupdate',
      'they need root, permission to mount and fetched programs',
    );
    return [];
  }
  const parts = await ensureParts(['sysupdate254', 'sysupdate257']);
  return Object.values(parts)
    .filter((part): part is Part => part !== undefined)
    .map(({ version, path }) => ({ version, root: path.replace(/\/(usr\/)?lib\/systemd\/[^/]*$/, '') }));
}

/** Folders of a host that outlive a command. */
const KEPT = ['etc', 'opt', 'var', 'run'];

/**
 * `$0` becomes the root, made of the tree `$1` (read-only) and the folders of `$2`. Where old packages have a /lib of
 * their own, it is theirs; newer ones have it in /usr. Shared, because systemd-sysext mounts in a namespace of its own and
 * counts on it that the mounts reach everybody.
 */
const ENTER = `
root=$0; tree=$1; kept=$2; shift 2
mount -t tmpfs none "$root"
for part in usr bin sbin lib lib64; do
  if [ -d "$tree/$part" ]; then mkdir "$root/$part"; mount --bind "$tree/$part" "$root/$part"
    mount -o remount,bind,ro "$root/$part"
  else ln -s "usr/$part" "$root/$part"; fi
done
for part in ${KEPT.join(' ')}; do mkdir "$root/$part"; mount --bind "$kept/$part" "$root/$part"; done
mkdir -p "$root/proc" "$root/sys" "$root/dev" -m 755; mkdir -m 1777 "$root/tmp"
mount --rbind /proc "$root/proc"; mount --rbind /sys "$root/sys"; mount --rbind /dev "$root/dev"
mount --make-rshared "$root"
inside() { chroot "$root" "$@"; }
`;

/** A host with the real systemd in it: its own /etc, /opt and /var, on this machine's network. */
export class SysupdateHost {
  readonly tree: SystemdTree;
  readonly #dir: string;

  private constructor(tree: SystemdTree, dir: string) {
    this.tree = tree;
    this.#dir = dir;
  }

  /** It is gone when the test is over. */
  static async create(tree: SystemdTree): Promise<SysupdateHost> {
    const host = new SysupdateHost(tree, await tempFolder());
    for (const part of [...KEPT, 'root', 'etc/systemd', 'etc/extensions', 'var/tmp'])
      await mkdir(join(host.#dir, part), { recursive: true });
    await host.write('/etc/os-release', 'ID=flatcar\nVERSION_ID=4593.2.5\n');
    return host;
  }

  /** A file of the host, seen from here. */
  path(path: string): string {
    return join(this.#dir, path);
  }

  async write(path: string, content: string | Uint8Array): Promise<void> {
    await mkdir(dirname(this.path(path)), { recursive: true });
    await writeFile(this.path(path), content);
  }

  remove(path: string): Promise<void> {
    return rm(this.path(path), { recursive: true, force: true });
  }

  read(path: string): Promise<Buffer> {
    return readFile(this.path(path));
  }

  async list(path: string): Promise<string[]> {
    return (await readdir(this.path(path)).catch(() => [])).sort();
  }

  link(path: string): Promise<string> {
    return readlink(this.path(path));
  }

  /** Runs a program of the tree. */
  run(program: string, ...args: string[]): Promise<Ended> {
    return this.script('inside "$@"', program, ...args);
  }

  /** Runs a script whose mounts end with it; `inside PROGRAM …` is a program of the tree. */
  script(text: string, ...args: string[]): Promise<Ended> {
    const root = this.path('root');
    const command = ['-m', '--propagation', 'private', 'sh', '-ec', `${ENTER}${text}`];
    const child = spawn('unshare', [...command, root, this.tree.root, this.#dir, ...args], {
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8', SYSTEMD_LOG_LEVEL: 'info' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended: Ended = { code: null, signal: null, stdout: '', stderr: '' };
    child.stdout.on('data', (chunk: Buffer) => {
      ended.stdout += chunk;
    });
    child.stderr.on('data', (chunk: Buffer) => {
      ended.stderr += chunk;
    });
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => resolve({ ...ended, code, signal }));
    });
  }

  /** `systemd-sysupdate -C <component> …`, as the unit on a host runs it; without a component for ''. */
  sysupdate(component: string, ...args: string[]): Promise<Ended> {
    const which = component === '' ? [] : ['-C', component];
    return this.run(this.#program('systemd-sysupdate'), '--no-pager', ...which, ...args);
  }

  #program(name: string): string {
    const found = ['/usr/lib/systemd', '/lib/systemd'].find((folder) =>
      existsSync(join(this.tree.root, folder, name)),
    );
    return join(found ?? '', name);
  }
}
