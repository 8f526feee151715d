// Runs commands inside of a root, in namespaces of their own: when the command ends, everything it started ends.
import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { USER } from './root.mjs';

/** `$0` is the root, then come pairs of a folder and its place inside, `--`, and the command. */
const ENTER = `set -e
mount --bind "$0" "$0"
cd "$0"
mount -t proc proc proc
mount --rbind /sys sys
mount --rbind /dev dev
mount -t tmpfs -o mode=755 run run
while [ "$1" != -- ]; do
  mkdir -p ".$2"
  mount --bind -o ro "$1" ".$2"
  mount -o remount,bind,ro ".$2"
  shift 2
done
shift
mkdir -p .outside
pivot_root . .outside
umount -l /.outside
exec "$@"
`;

const AS_USER = ['setpriv', `--reuid=${USER}`, `--regid=${USER}`, '--init-groups'];
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * @typedef {object} Inside
 * @property {string} root
 * @property {boolean} asRoot else as an ordinary user
 * @property {Record<string, string>} env
 * @property {[from: string, to: string][]} mounts read-only
 */

/**
 * @param {Inside} inside
 * @param {string} cwd
 * @param {string} command for sh
 * @param {string} log where its output goes
 * @returns {{ stop: () => void, ended: Promise<{ code: number, output: string }> }}
 */
export function startInside({ root, asRoot, env, mounts }, cwd, command, log) {
  const home = asRoot ? '/root' : `/home/${USER}`;
  const shell = ['sh', '-c', `cd "${cwd}" && ${command}`];
  const args = [root, ...mounts.flat(), '--', ...(asRoot ? [] : AS_USER), ...shell];
  const child = spawn(
    'unshare',
    ['--mount', '--pid', '--fork', '--kill-child=KILL', '--propagation=private', 'sh', '-c', ENTER, ...args],
    // The signal for it must not reach us as well.
    { env: { PATH, HOME: home, LANG: 'C.UTF-8', ...env }, stdio: ['ignore', 'pipe', 'pipe'], detached: true },
  );
  const file = createWriteStream(log, { flags: 'a' });
  file.write(`$ ${command}\n`);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk;
      file.write(chunk);
    });
  }
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  return {
    stop: end,
    ended: new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => {
        process.off('exit', end);
        file.end();
        resolve({ code: code ?? 1, output });
      });
    }),
  };
}
