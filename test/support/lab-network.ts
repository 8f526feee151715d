import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';

/** The address of the server's machine. */
export const SERVER = '10.55.0.1';
export const TAPS = Array.from({ length: 8 }, (_, index) => `tap${index}`);

/** Programs that it is made with. */
export const NETWORK_PROGRAMS = ['ip', 'nsenter', 'unshare'];

/** It needs root, and in a container more than that. Why this machine can't have one; `undefined` if it can. */
export function whyNoNetwork(): string | undefined {
  if (process.getuid?.() !== 0) return 'their network needs root';
  const missing = NETWORK_PROGRAMS.filter((program) => spawnSync(program, ['--help']).error !== undefined);
  if (missing.length > 0) return `${missing.join(', ')} is missing (apt-get install iproute2 util-linux)`;
  const attempt = 'ip link add br0 type bridge && ip tuntap add tap0 mode tap && ip link set tap0 master br0';
  const { status, stderr } = spawnSync('unshare', ['-n', 'sh', '-c', attempt], { encoding: 'utf8' });
  return status === 0 ? undefined : `they can't have a network of their own: ${stderr.trim()}`;
}

/**
 * Run by a process that lives in the network. It waits on its standard input: when the process that started it ends,
 * however it does, the keeper ends everything that runs in the network, and removes the folder. A signal for the death
 * of the parent (`setpriv --pdeathsig`) is not enough: dnsmasq changes its group, and the kernel then forgets the
 * signal. Ctrl-C in a terminal also reaches the keeper, which has to be the last one.
 */
const KEEPER = [
  "trap '' HUP INT TERM",
  'ip link set lo up',
  'ip link add br0 type bridge',
  `ip addr add ${SERVER}/24 dev br0`,
  'ip addr add fd55::1/64 dev br0 nodad',
  'ip link set br0 up',
  ...TAPS.flatMap((tap) => [
    `ip tuntap add ${tap} mode tap`,
    `ip link set ${tap} master br0`,
    `ip link set ${tap} up`,
  ]),
  'echo ready',
  'cat',
  'others() { find -L /proc/[0-9]*/ns/net -samefile /proc/$$/ns/net | cut -d / -f 3 | grep -vx $$; }',
  // Some of them have ended meanwhile.
  'kill -KILL $(others 2>/dev/null) 2>/dev/null || true',
  'rm -rf "$1"',
].join('\n');

/** A private network with a bridge and taps. Nothing that runs in it survives the process that made it. */
export class LabNetwork {
  readonly #keeper: ChildProcess;

  /** @param folder removed at the end */
  static async start(folder: string): Promise<LabNetwork> {
    const keeper = spawn('unshare', ['-n', 'sh', '-ec', KEEPER, 'keeper', folder], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    await isReady(keeper, 'the network');
    return new LabNetwork(keeper);
  }

  private constructor(keeper: ChildProcess) {
    this.#keeper = keeper;
  }

  /** Goes before the command line of a program that is to run in it. */
  get through(): string[] {
    return ['nsenter', '-t', String(this.#keeper.pid), '-n'];
  }

  async end(): Promise<void> {
    const { exitCode, signalCode, stdin } = this.#keeper;
    if (exitCode !== null || signalCode !== null) return;
    const ended = once(this.#keeper, 'exit');
    stdin?.end();
    await ended;
  }
}

/** Waits until a process prints `ready`. */
export async function isReady(child: ChildProcess, what: string): Promise<void> {
  const first = await Promise.race([once(child.stdout!, 'data'), once(child, 'exit')]);
  if (String(first[0]) !== 'ready\n') throw new Error(`${what} could not be started: ${first}`);
}
