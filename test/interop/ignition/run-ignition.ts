import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { ensureParts } from '../../../scripts/lib/parts.mjs';
import { NOTHING_FETCHED, skipped } from '../../support/skipped.ts';

/** The real Ignition, and what it judges configurations with. */
export interface IgnitionTools {
  ignition: string;
  validate: string;
  env: Record<string, string>;
}

/** It writes files of other owners, and a command line of our own is mounted over the kernel's. */
const hasRights =
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['-m', '--propagation', 'private', 'mount', '--bind', '/dev/null', '/proc/cmdline'])
    .status === 0;

/** Debian's; `undefined`, after a line that says why, where it can't be had or run. */
export async function ignitionTools(): Promise<IgnitionTools | undefined> {
  const skip = (why: string): undefined => skipped("the stages of Debian's Ignition", why);
  if (process.env.RAILHEAD_TEST_PARTS === 'none') return skip(NOTHING_FETCHED);
  if (!hasRights) return skip('they need root and permission to mount');
  const { ignition } = await ensureParts(['ignition']);
  if (ignition === undefined) return skip('it could not be fetched');
  const validate = ignition.path.replace(/usr\/lib\/dracut\/.*$/, 'usr/bin/ignition-validate');
  return { ignition: ignition.path, validate, env: ignition.env };
}

export interface IgnitionEnd {
  code: number | null;
  output: string;
}

/** A machine as Ignition sees it: an empty root, and the command line that its kernel was started with. */
export class IgnitionMachine {
  readonly root: string;
  readonly #dir: string;
  readonly #tools: IgnitionTools;
  #running: ReturnType<typeof spawn> | undefined;

  /** `source`: the URL on its command line, or a configuration that it is given as a file. */
  constructor(tools: IgnitionTools, dir: string, source: { url: string } | { config: string }) {
    this.#tools = tools;
    this.#dir = dir;
    this.root = join(dir, 'root');
    for (const folder of ['root/etc/selinux', 'root/home/core', 'bin']) {
      mkdirSync(join(dir, folder), { recursive: true });
    }
    // As in Flatcar's initrd: the user is there, and so is its home.
    writeFileSync(
      join(this.root, 'etc/passwd'),
      'root:x:0:0::/root:/bin/sh\ncore:x:500:500::/home/core:/bin/sh\n',
    );
    writeFileSync(join(this.root, 'etc/group'), 'root:x:0:\ncore:x:500:\n');
    chownSync(join(this.root, 'home/core'), 500, 500);
    // It writes the keys of a user as that user.
    chmodSync(dir, 0o755);
    // Debian's wants to label what it wrote.
    writeFileSync(join(this.root, 'etc/selinux/config'), 'SELINUXTYPE=none\n');
    for (const program of ['setfiles', 'usermod']) {
      writeFileSync(join(dir, 'bin', program), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
    }
    const argument = 'url' in source ? `ignition.config.url=${source.url}` : '';
    writeFileSync(join(dir, 'cmdline'), `flatcar.first_boot=1 ${argument}\n`);
    if ('config' in source) writeFileSync(join(dir, 'config.ign'), source.config);
  }

  /** Runs one stage to its end. */
  run(stage: 'fetch' | 'files'): Promise<IgnitionEnd> {
    const { ignition, env } = this.#tools;
    const dir = this.#dir;
    const flags = [
      `--stage=${stage}`,
      '--platform=file',
      `--root=${this.root}`,
      `--config-cache=${dir}/cache`,
      `--state-file=${dir}/state`,
      `--neednet=${dir}/neednet`,
      '--log-to-stdout',
    ];
    const script = 'mount --bind "$1" /proc/cmdline; shift; exec "$@"';
    const child = spawn(
      'unshare',
      ['-m', '--propagation', 'private', 'sh', '-ec', script, 'sh', join(dir, 'cmdline'), ignition, ...flags],
      {
        env: {
          PATH: `${join(dir, 'bin')}:${process.env.PATH}`,
          IGNITION_CONFIG_FILE: join(dir, 'config.ign'),
          ...env,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    this.#running = child;
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => resolve({ code, output }));
    });
  }

  /** Ignition tries for ever where waiting may help. */
  stop(): void {
    this.#running?.kill('SIGKILL');
  }

  /** All that is in its root now. */
  tree(): Map<string, Found> {
    const found = new Map<string, Found>();
    walk(this.root, '', found);
    return found;
  }
}

export interface Found {
  kind: 'file' | 'directory' | 'link';
  mode: number;
  owner: string;
  content: string;
}

function walk(root: string, path: string, found: Map<string, Found>): void {
  for (const name of readdirSync(join(root, path))) {
    const below = `${path}/${name}`;
    const full = join(root, below);
    const stat = lstatSync(full);
    const kind = stat.isDirectory() ? 'directory' : stat.isSymbolicLink() ? 'link' : 'file';
    const content =
      kind === 'file' ? readFileSync(full, 'latin1') : kind === 'link' ? readlinkSync(full) : '';
    found.set(below, { kind, mode: stat.mode & 0o7777, owner: `${stat.uid}:${stat.gid}`, content });
    if (kind === 'directory') walk(root, below, found);
  }
}

/** Whether the real judge takes it. */
export function isValid(
  { validate, env }: IgnitionTools,
  config: string,
): { code: number | null; said: string } {
  const { status, stdout, stderr } = spawnSync(validate, ['-'], {
    input: config,
    env: { ...process.env, ...env },
    encoding: 'utf8',
  });
  return { code: status, said: stdout + stderr };
}
