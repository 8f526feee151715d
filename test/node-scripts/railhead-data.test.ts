import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, truncate } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { ensureParts } from '../../scripts/lib/parts.mjs';
import { canMount } from '../support/private-mounts.ts';
import { skipped } from '../support/skipped.ts';
import { type ScriptEnd, type Shell, shells, TestNode } from './node.ts';

const wanted =
  canMount && process.env.RAILHEAD_TEST_PARTS !== 'none' ? await ensureParts(['sfdisk']) : undefined;
const sfdisk = wanted?.sfdisk?.path;
const hasTools =
  ['mkfs.ext4', 'wipefs', 'ssh-keygen'].every((name) => spawnSync('which', [name]).status === 0) &&
  spawnSync('losetup', ['-f']).status === 0;
const canRun = sfdisk !== undefined && hasTools;
if (!canRun) {
  skipped(
    'railhead-data on a real file system',
    'it needs root, permission to mount, a loop device, sfdisk, e2fsprogs and ssh-keygen',
  );
}
const SHELLS = await shells();

/** In a machine's own view of its folders: what is on its disk stays, everything else is gone with the boot. */
const BOOT = `
mount --bind "$1" /dev/shm
mkdir "$2"
mount -t tmpfs none "$2"
cp -a /etc "$2/etc"
rm -f "$2"/etc/ssh/ssh_host_*
mount --bind "$2/etc" /etc
mount -t tmpfs none /var/lib
shift 2
status=0
"$@" || status=$?
[ "$status" != 0 ] || eval "$AFTERWARDS"
exit "$status"
`;

/** What railhead-node leaves when the server has accepted it. */
const REGISTER = 'echo fingerprint >/var/lib/railhead/registered-with';

/** Partitions of files are no devices: the one that is meant is a file of its own. */
const LSBLK = (sfdiskPath: string): string => `
if '${sfdiskPath}' --dump "$3" 2>/dev/null | grep -q 'name="railhead-data"'; then
  [ -e /dev/shm/part ] || truncate -s 32M /dev/shm/part
  echo "$3"
  echo "/dev/shm/part railhead-data"
else
  rm -f /dev/shm/part
  echo "$3"
fi`;

/** A machine with one disk, and how to boot it. */
async function machine(shell: Shell) {
  const node = await TestNode.make(shell);
  await node.write('dev/disk', '');
  await truncate(node.path('dev/disk'), 64 * 1024 * 1024);
  await node.write('etc/node.env', 'RAILHEAD_HOST=n1\n');
  await node.program('lsblk', LSBLK(sfdisk!));
  await node.program('sfdisk', `exec '${sfdisk}' "$@"`);
  await node.program('udevadm', 'exit 0');
  // To it a file is no whole disk, whose partitions it would take.
  await node.program('wipefs', 'case "$*" in *--all*) set -- --force "$@" ;; esac\nexec /sbin/wipefs "$@"');
  // One kind of key is enough, and made in no time.
  await node.program(
    'ssh-keygen',
    "exec /usr/bin/ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key",
  );
  await node.program('railhead-disk', 'echo /dev/shm/disk');
  await node.program('railhead-node', `echo "$@" >>'${node.path('reported')}'`);
  let boots = 0;
  return {
    node,
    disk: () => hashOf(node.path('dev/disk')),
    reported: () => node.text('reported').catch(() => ''),
    /** `afterwards`: what the system does that has its data then. */
    boot: async ({ wipe = false, afterwards = ':' } = {}): Promise<ScriptEnd & { state: string }> => {
      await node.write('etc/disk.env', `RAILHEAD_DATA_WIPE=${wipe ? 'yes' : 'no'}\n`);
      const end = await node.run('railhead-data', [], {
        AFTERWARDS: `${afterwards}\ncat "$RAILHEAD_RUN/data" >"$RAILHEAD_ETC/../state-seen"`,
        THROUGH_DIR: node.path('dev'),
        THROUGH_TEMP: node.path(`boot${boots++}`),
      });
      return { ...end, state: end.code === 0 ? (await node.text('state-seen')).trim() : '' };
    },
  };
}

async function hashOf(path: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
}

describe.skipIf(!canRun).each(SHELLS)('railhead-data in $name', (shell) => {
  const through: Shell = {
    ...shell,
    command: [
      ...['unshare', '-m', '--propagation', 'private', 'sh', '-ec'],
      `set -- "$THROUGH_DIR" "$THROUGH_TEMP" "$@"${BOOT}`,
      'sh',
      ...shell.command,
    ],
  };

  it('makes the partition once; what is written to it outlives boots; a reinstallation empties it', async () => {
    const { boot, reported } = await machine(through);
    const first = await boot({
      afterwards: `
        for path in /etc/kubernetes /var/lib/etcd /var/lib/kubelet /var/lib/containerd /var/lib/cni /var/lib/railhead; do
          mountpoint -q "$path" || exit 90
        done
        [ "$(stat -c %a /etc/kubernetes /var/lib/etcd /var/lib/railhead | uniq)" = 700 ] || exit 91
        echo joined >/etc/kubernetes/kubelet.conf
        echo gone >/etc/not-kept
        cat /etc/ssh/ssh_host_ed25519_key.pub >"$RAILHEAD_ETC/key"
        ${REGISTER}`,
    });
    expect(first, first.stderr).toMatchObject({ code: 0, state: 'empty' });
    const second = await boot({
      afterwards: `
        [ "$(cat /etc/kubernetes/kubelet.conf)" = joined ] || exit 90
        [ ! -e /etc/not-kept ] || exit 91
        cmp /etc/ssh/ssh_host_ed25519_key.pub "$RAILHEAD_ETC/key" || exit 92
        [ "$(stat -c %a /etc/ssh/ssh_host_ed25519_key)" = 600 ] || exit 93`,
    });
    expect(second, second.stderr).toMatchObject({ code: 0, state: 'kept' });
    const wiped = await boot({
      wipe: true,
      afterwards: `[ ! -e /etc/kubernetes/kubelet.conf ] || exit 90; ${REGISTER}`,
    });
    expect(wiped, wiped.stderr).toMatchObject({ code: 0, state: 'empty' });
    expect(await boot()).toMatchObject({ code: 0, state: 'kept' });
    expect(await reported()).toBe('');
  });

  // What a shell could do differently is in the one above.
  const isFirst = shell === SHELLS[0];
  it.runIf(isFirst)('is empty until the host has registered with it, however often it boots', async () => {
    const { boot } = await machine(through);
    expect(await boot({ afterwards: 'echo half >/etc/kubernetes/pki.half' })).toMatchObject({
      state: 'empty',
    });
    const second = await boot({ afterwards: `[ -e /etc/kubernetes/pki.half ] || exit 90; ${REGISTER}` });
    expect(second, second.stderr).toMatchObject({ code: 0, state: 'empty' });
    expect(await boot()).toMatchObject({ code: 0, state: 'kept' });
  });

  it.runIf(isFirst).each([
    ['a file system', 'mkfs.ext4 -q -F "$0"'],
    [
      'partitions of somebody else',
      `printf 'label: gpt\\ntype=linux, name="precious"\\n' | '${sfdisk}' -q "$0"`,
    ],
  ])('a disk with %s is not touched, and it is said; a reinstallation takes it', async (_what, script) => {
    const { node, boot, disk, reported } = await machine(through);
    expect(spawnSync('sh', ['-c', script, node.path('dev/disk')]).status).toBe(0);
    const before = await disk();
    expect(await boot()).toMatchObject({ code: 1 });
    expect(await reported()).toBe(
      'report failed /dev/shm/disk has no partition railhead-data and is not blank; `railhead reinstall n1` empties it\n',
    );
    expect(await disk()).toBe(before);
    expect(await boot({ wipe: true })).toMatchObject({ code: 0, state: 'empty' });
  });

  it.runIf(isFirst)(
    'a partition of ours with something else on it is not touched, and it is said',
    async () => {
      const { node, boot, reported } = await machine(through);
      await boot();
      expect(spawnSync('mkswap', ['-f', node.path('dev/part')]).status).toBe(0);
      const before = await hashOf(node.path('dev/part'));
      expect((await boot()).code).not.toBe(0);
      expect(await reported()).toMatch(/^report failed railhead-data ended with \d+\n$/);
      expect(await hashOf(node.path('dev/part'))).toBe(before);
    },
  );
});
