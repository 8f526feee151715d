import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { onTestFinished } from 'vitest';
import { NODE, RAILHEAD, ROOT, type RunOptions } from './appliance.ts';
import { skipped } from './skipped.ts';

/** Mounts need root, and in a container more than that. Without, the tests that need them say so and are skipped. */
export const canMount =
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['-m', '-n', '--propagation', 'private', 'mount', '-t', 'tmpfs', 'none', tmpdir()])
    .status === 0 &&
  ['nsenter', 'setpriv'].every((program) => spawnSync(program, ['--version']).status === 0);
if (!canMount) {
  skipped('full disks, read-only disks and other users', 'they need root and permission to mount');
}

export interface PrivateMounts {
  /** What starts a program so that it sees them: goes before its command line. */
  through: string[];
  /** The same file as those programs see under `path`, seen from here. */
  inside(path: string): string;
}

/** Runs `script` (mounts …) in a mount namespace of its own, which ends with the test. */
export async function privateMounts(script: string): Promise<PrivateMounts> {
  // It waits on its standard input: when this process ends, however it does, so does the keeper.
  const keeper = spawn(
    'unshare',
    ['-m', '--propagation', 'private', 'sh', '-ec', `${script}\necho ready; exec cat`],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  onTestFinished(async () => {
    keeper.stdin.end();
    if (keeper.exitCode === null) await once(keeper, 'exit');
  });
  const [said] = (await Promise.race([once(keeper.stdout, 'data'), once(keeper, 'exit')])) as [unknown];
  if (String(said) !== 'ready\n') throw new Error(`the mounts failed: ${said}`);
  return {
    through: ['nsenter', '-t', String(keeper.pid), '-m', '--'],
    inside: (path) => `/proc/${keeper.pid}/root${path}`,
  };
}

const NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--'];

/**
 * Runs `railhead` without rights and without a network: on a port below 1024, and in the folders of others, it is
 * turned away. The checkout may be where nobody else can go, so it is mounted where everybody can.
 */
export async function asNobody(): Promise<Required<Pick<RunOptions, 'through' | 'command'>>> {
  const checkout = await mkdtemp(join(tmpdir(), 'railhead-checkout-'));
  await chmod(checkout, 0o755);
  onTestFinished(() => rmdir(checkout));
  const moved = (path: string): string => {
    const below = relative(ROOT, path);
    return below.startsWith('..') ? path : join(checkout, below);
  };
  const script = `mount --bind "$0" "$1"; shift; exec ${NOBODY.join(' ')} "$@"`;
  return {
    through: ['unshare', '-m', '-n', '--propagation', 'private', 'sh', '-ec', script, ROOT, checkout],
    command: [moved(NODE), moved(RAILHEAD)],
  };
}
