import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { onPath } from '../../scripts/lib/run.mjs';
import { fileIn } from '../../server/ignition/config-file.ts';
import { toBuffer } from '../../server/ignition/sheet.ts';
import { rendererFor } from '../ignition/make.ts';
import { lab } from '../inventory/make.ts';
import { canMount } from '../support/private-mounts.ts';
import { skipped } from '../support/skipped.ts';
import { realProgram, SCRIPTS, type ScriptEnd, type Shell, shells, TestNode } from './node.ts';
import { StandIn } from './stand-in.ts';

const sfdisk = realProgram('sfdisk');
const canRun =
  canMount &&
  ['mkfs.ext4', 'sfdisk', 'ssh-keygen', 'wipefs'].every((name) => onPath(name).length > 0) &&
  spawnSync('losetup', ['-f']).status === 0;
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
mkdir -p "$2"/etc/ssh
rm -f "$2"/etc/ssh/ssh_host_*
mount --bind "$2/etc" /etc
mount -t tmpfs none /var/lib
export RAILHEAD_RUN="$2/run"
shift 2
status=0
"$@" || status=$?
[ "$status" != 0 ] || eval "$AFTERWARDS"
exit "$status"
`;

const BOUND =
  '/etc/kubernetes /var/lib/etcd /var/lib/kubelet /var/lib/containerd /var/lib/cni /var/lib/railhead';
/** Where nothing of the partition may be used. */
const NOTHING_BOUND = `for path in ${BOUND}; do ! mountpoint -q "$path" || exit 80; done`;
/** What comes after the partition is mounted, with the real scripts. */
const REGISTER = 'railhead-node register || exit 81';
const REGISTER_AND_BIND = `${REGISTER}; railhead-data bind || exit 82`;

/** What a host with a disk is configured with. */
async function dataEnv(): Promise<Buffer> {
  const { renderer, host } = await rendererFor(
    lab('{name: n2, pool: workers, macs: [52:54:00:12:34:02], disk: /dev/vda}'),
  );
  const preview = await renderer.preview(host('n2'), 'system');
  if ('problems' in preview) throw new Error('it is not rendered');
  return fileIn(JSON.parse(toBuffer(preview).toString()), '/etc/railhead/data.env')!;
}

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
async function machine(shell: Shell, inner: Shell, server?: StandIn) {
  const node = await TestNode.make(shell);
  await node.write('dev/disk', '');
  await truncate(node.path('dev/disk'), 64 * 1024 * 1024);
  await node.write('etc/data.env', await dataEnv());
  await (server === undefined ? node.write('etc/node.env', 'RAILHEAD_HOST=n1\n') : server.configure(node));
  await node.program('lsblk', LSBLK(sfdisk));
  await node.program('sfdisk', `exec '${sfdisk}' "$@"`);
  await node.program('udevadm', 'exit 0');
  // To it a file is no whole disk, whose partitions it would take.
  await node.program('wipefs', 'case "$*" in *--all*) set -- --force "$@" ;; esac\nexec /sbin/wipefs "$@"');
  // One kind of key is enough, and made in no time.
  await node.program(
    'ssh-keygen',
    `exec '${realProgram('ssh-keygen')}' -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key`,
  );
  await node.program('railhead-disk', 'echo /dev/shm/disk');
  // Already in the machine's own view.
  const run = (script: string): string => `exec ${inner.command.join(' ')} ${join(SCRIPTS, script)} "$@"`;
  await node.program('railhead-data', run('railhead-data'));
  await node.program(
    'railhead-node',
    `if [ "$1" = report ]; then echo "$@" >>'${node.path('reported')}'; else ${run('railhead-node')}; fi`,
  );
  let boots = 0;
  return {
    node,
    disk: () => hashOf(node.path('dev/disk')),
    reported: () => node.text('reported').catch(() => ''),
    /** Mounts the partition. `afterwards`: what the system does then. */
    boot: async ({ wipe = false, afterwards = ':', host = 'n1' } = {}): Promise<ScriptEnd> => {
      await node.write('etc/disk.env', `RAILHEAD_DATA_WIPE=${wipe ? 'yes' : 'no'}\n`);
      if (server !== undefined) await server.configure(node, host);
      return node.run('railhead-data', ['mount'], {
        AFTERWARDS: afterwards,
        THROUGH_DIR: node.path('dev'),
        THROUGH_TEMP: node.path(`boot${boots++}`),
        // As the configuration says.
        RAILHEAD_STATE: '',
        RAILHEAD_CANDIDATE_SECONDS: '0.2',
      });
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

  it('makes the partition once; what is written to it outlives boots; a reinstall empties it', async () => {
    const server = await StandIn.start();
    const { boot, reported } = await machine(through, shell, server);
    const first = await boot({
      afterwards: `
        ${NOTHING_BOUND}
        ${REGISTER_AND_BIND}
        for path in ${BOUND}; do
          mountpoint -q "$path" || exit 90
        done
        [ "$(stat -c %a /etc/kubernetes /var/lib/etcd /var/lib/railhead | uniq)" = 700 ] || exit 91
        [ "$(stat -c %a /var/lib/railhead/secret)" = 600 ] || exit 92
        echo joined >/etc/kubernetes/kubelet.conf
        echo gone >/etc/not-kept
        cat /etc/ssh/ssh_host_ed25519_key.pub >"$RAILHEAD_ETC/key"`,
    });
    expect(first, first.stderr).toMatchObject({ code: 0 });
    expect(first.stderr).toContain('the data partition /dev/shm/part is empty');
    const [{ secret } = { secret: '' }] = server.identities;
    const second = await boot({
      afterwards: `
        cmp /etc/ssh/ssh_host_ed25519_key.pub "$RAILHEAD_ETC/key" || exit 92
        [ "$(stat -c %a /etc/ssh/ssh_host_ed25519_key)" = 600 ] || exit 93
        ${REGISTER_AND_BIND}
        [ "$(cat /etc/kubernetes/kubelet.conf)" = joined ] || exit 90
        [ ! -e /etc/not-kept ] || exit 91
        [ "$(cat /var/lib/railhead/identity | tr '\\n' ' ')" = 'host=n1 generation=1 ' ] || exit 94`,
    });
    expect(second, second.stderr).toMatchObject({ code: 0 });
    expect(second.stderr).toContain('the data partition /dev/shm/part is kept');
    expect(server.identities).toEqual([{ secret, host: 'n1', generation: 1 }]);

    server.isWindowOpen = true;
    const wiped = await boot({
      wipe: true,
      afterwards: `
        ${REGISTER_AND_BIND}
        [ ! -e /etc/kubernetes/kubelet.conf ] || exit 90
        # Nothing is wiped twice in a boot, whatever is started again.
        echo new >/etc/kubernetes/kubelet.conf
        railhead-data mount || exit 91
        [ "$(cat /etc/kubernetes/kubelet.conf)" = new ] || exit 92
        for path in ${BOUND} "$RAILHEAD_DATA_DIR"; do umount "$path" || exit 93; done
        railhead-data mount || exit 94
        ${REGISTER_AND_BIND}
        [ "$(cat /etc/kubernetes/kubelet.conf)" = new ] || exit 95`,
    });
    expect(wiped, wiped.stderr).toMatchObject({ code: 0 });
    expect(server.identities).toEqual([{ secret: expect.any(String), host: 'n1', generation: 2 }]);
    expect(server.identities[0]!.secret).not.toBe(secret);
    expect((await boot()).stderr).toContain('is kept');
    expect(await reported()).toBe('');
  });

  it('of another host: nothing of it is used, but people can log in', async () => {
    const server = await StandIn.start();
    const { boot, reported } = await machine(through, shell, server);
    const first = await boot({
      afterwards: `${REGISTER_AND_BIND}; cat /etc/ssh/ssh_host_ed25519_key.pub >"$RAILHEAD_ETC/key"`,
    });
    expect(first, first.stderr).toMatchObject({ code: 0 });
    server.host = 'n2';
    const moved = await boot({
      host: 'n2',
      afterwards: `
        [ ! -e /etc/ssh/ssh_host_ed25519_key ] || exit 90
        ! timeout 2 railhead-node register || exit 91
        ! railhead-data bind || exit 92
        ${NOTHING_BOUND}`,
    });
    expect(moved, moved.stderr).toMatchObject({ code: 0 });
    expect(moved.stderr).toContain('the data partition /dev/shm/part belongs to n1, not to n2');
    expect(moved.stderr).toContain('this machine is a candidate');
    expect(moved.stderr).toContain('the data partition is not used: this machine is not registered');
    expect(server.asked.at(-1)!.body.partition).toEqual({ host: 'n1', generation: 1 });
    // Back where it belongs.
    server.host = 'n1';
    const back = await boot({
      afterwards: `cmp /etc/ssh/ssh_host_ed25519_key.pub "$RAILHEAD_ETC/key" || exit 90; ${REGISTER_AND_BIND}`,
    });
    expect(back, back.stderr).toMatchObject({ code: 0 });
    expect(await reported()).toBe('');
  });

  // What a shell could do differently is in those above.
  const isFirst = shell === SHELLS[0];
  it.runIf(isFirst)(
    'a power cut between the secret and the registration: the same secret, and the same SSH keys',
    async () => {
      const server = await StandIn.start();
      const { boot } = await machine(through, shell, server);
      server.isWindowOpen = false;
      const cut = await boot({
        afterwards: `
        ! timeout 2 railhead-node register || exit 90
        cat /etc/ssh/ssh_host_ed25519_key.pub >"$RAILHEAD_ETC/key"`,
      });
      expect(cut, cut.stderr).toMatchObject({ code: 0 });
      server.isWindowOpen = true;
      const second = await boot({
        afterwards: `cmp /etc/ssh/ssh_host_ed25519_key.pub "$RAILHEAD_ETC/key" || exit 90; ${REGISTER_AND_BIND}`,
      });
      expect(second, second.stderr).toMatchObject({ code: 0 });
      expect(new Set(server.asked.map(({ body }) => body.secret)).size).toBe(1);
    },
  );

  it.runIf(isFirst)(
    'a power cut after the wipe: it is wiped again, until the new secret is registered',
    async () => {
      const server = await StandIn.start();
      const { boot } = await machine(through, shell, server);
      expect(await boot({ afterwards: REGISTER_AND_BIND })).toMatchObject({ code: 0 });
      server.isWindowOpen = true;
      expect(await boot({ wipe: true })).toMatchObject({ code: 0 });
      const again = await boot({ wipe: true, afterwards: REGISTER_AND_BIND });
      expect(again, again.stderr).toMatchObject({ code: 0 });
      const last = await boot({ afterwards: REGISTER_AND_BIND });
      expect(last, last.stderr).toMatchObject({ code: 0 });
      expect(server.identities).toMatchObject([{ generation: 2 }]);
    },
  );

  it.runIf(isFirst).each([
    ['a file system', 'mkfs.ext4 -q -F "$0"'],
    [
      'partitions of somebody else',
      `printf 'label: gpt\\ntype=linux, name="precious"\\n' | '${sfdisk}' -q "$0"`,
    ],
  ])('a disk with %s is not touched, and it is said; a reinstall uses it', async (_what, script) => {
    const { node, boot, disk, reported } = await machine(through, shell);
    expect(spawnSync('sh', ['-c', script, node.path('dev/disk')]).status).toBe(0);
    const before = await disk();
    expect(await boot()).toMatchObject({ code: 1 });
    expect(await reported()).toBe(
      'report failed /dev/shm/disk has no partition railhead-data and is not blank; `railhead reinstall n1` empties it\n',
    );
    expect(await disk()).toBe(before);
    expect(await boot({ wipe: true })).toMatchObject({ code: 0 });
  });

  it.runIf(isFirst)(
    'a partition of ours with something else on it is not touched, and it is said',
    async () => {
      const { node, boot, reported } = await machine(through, shell);
      await boot();
      expect(spawnSync('mkswap', ['-f', node.path('dev/part')]).status).toBe(0);
      const before = await hashOf(node.path('dev/part'));
      expect((await boot()).code).not.toBe(0);
      expect(await reported()).toMatch(/^report failed railhead-data ended with \d+\n$/);
      expect(await hashOf(node.path('dev/part'))).toBe(before);
    },
  );
});
