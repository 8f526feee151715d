import type { Command } from 'commander';
import { EXIT, RailheadError } from '../errors.ts';
import { Fleet } from '../simulation/fleet.ts';
import { type Install, MAX_SIMULATED_HOSTS } from '../simulation/hosts.ts';
import type { SetUp } from '../simulation/set-up.ts';
import { summarise } from '../simulation/summary.ts';
import { findWay } from '../simulation/way.ts';
import { type Client, connect, withServer } from './client.ts';
import { type CliIo, type Output, print, printJson } from './io.ts';
import { formatMoment, formatSummary } from './simulate-report.ts';

interface ServerInfo {
  advertise: { url: string; address: string };
  ports?: { tftp: number };
}

interface SimulateFlags {
  hosts: number;
  speed: number;
  loss: number;
  seed: number;
  install: Install;
  kernelBytes: number;
  initrdBytes: number;
  tftp: { host: string; port: number } | undefined;
}

const EXAMPLES = `
The machines speak TFTP and HTTP to the running server as real ones do: about half of them as BIOS with pxelinux, the
others with iPXE. They are hosts of the inventory meanwhile, in the file simulated.yaml, with a stand-in image; your own
hosts are left alone.

Examples:
  railhead simulate --hosts 50                     a rack, ten times faster than real
  railhead simulate --hosts 500 --speed max        load: no pauses
  railhead simulate --hosts 20 --loss 0.1          a bad network: every tenth TFTP packet is lost
  railhead simulate --hosts 3 --speed 1 --install disk
  railhead simulate --remove                       take hosts and image away again`;

export function registerSimulate(program: Command, io: CliIo): void {
  withServer(program.command('simulate'))
    .description('Let machines boot that are only pretended, for a demonstration or for load')
    .option('--hosts <N>', `How many, 1 to ${MAX_SIMULATED_HOSTS}`)
    .option('--speed <X>', 'How many times faster than real machines; "max": without any pauses', '10')
    .option('--loss <P>', 'Share of TFTP packets that is lost, 0 to 0.5', '0')
    .option('--seed <N>', 'Another number, other pauses and losses', '1')
    .option('--install <MODE>', 'ram, or disk: install, and boot from disk after', 'ram')
    .option('--image-size <MB>', 'Size of kernel (a fifth of it) and initrd together', '20')
    .option('--tftp <ADDRESS:PORT>', 'Where TFTP is, if not where the server says')
    .option('--remove', 'Take the simulated hosts and their image away')
    .option('--json', 'Print JSON')
    .addHelpText('after', EXAMPLES)
    .action(async (flags) => {
      if (flags.remove) return remove(io, await connect(io, flags), flags.json);
      const wanted = readFlags(flags);
      await simulate(io, await connect(io, flags), wanted, flags.json === true);
    });
}

async function remove(io: CliIo, client: Client, json: boolean): Promise<void> {
  const removed = await client.delete<{ file: string | null; image: string | null }>('/api/v1/simulation');
  if (json) return printJson(io.stdout, removed);
  const what = [removed.file, removed.image].filter((path) => path !== null);
  print(io.stdout, what.length === 0 ? 'There was no simulation.' : `Removed: ${what.join(', ')}.`);
}

async function simulate(io: CliIo, client: Client, wanted: SimulateFlags, json: boolean): Promise<void> {
  const stopping = new AbortController();
  io.onSignal(() => stopping.abort(new Error('stopped')));
  const { signal } = stopping;
  const { advertise, ports } = await client.get<ServerInfo>('/api/v1/server');
  if (ports === undefined) {
    throw new RailheadError(
      'RH_SERVER_ANSWER',
      'The server is too old for this: it does not tell its ports.',
    );
  }
  const { tftp, speed, loss, seed, ...order } = wanted;
  const way = await findWay({ apiUrl: client.url, advertise, tftpPort: ports.tftp, tftp, signal });
  const { hosts, install, file } = await client.post<SetUp>('/api/v1/simulation', order);
  const fleet = new Fleet({
    ...way,
    hosts,
    install,
    speed,
    loss,
    seed,
    signal,
    now: () => performance.now(),
  });
  const stopShowing = showProgress(fleet, json ? undefined : io.stdout);
  await fleet.run();
  stopShowing();
  const summary = summarise(fleet.machines, fleet.traffic, fleet.seconds);
  if (json) printJson(io.stdout, { ...summary, file, machines: fleet.machines });
  else {
    const after = `They stay in ${file} until \`npx railhead simulate --remove\`; \`npx railhead hosts\` lists them.`;
    print(io.stdout, ...formatSummary(summary), after);
  }
  if (summary.reached.count < summary.hosts) io.setExitCode(EXIT.notRight);
}

const LIVE_MS = 250;
const LINES_MS = 3000;
/** A longer line would wrap, and could not be overwritten. */
const LINE_LENGTH = 79;

/** A line that changes on a terminal, else one every few seconds. Returns what ends it. */
function showProgress(fleet: Fleet, output: Output | undefined): () => void {
  if (output === undefined) return () => {};
  let before = { seconds: 0, bytes: 0 };
  const line = (): string => {
    const { machines, traffic, seconds } = fleet;
    const bytes = traffic.tftp.bytes + traffic.http.bytes;
    const bytesPerSecond = (bytes - before.bytes) / Math.max(0.001, seconds - before.seconds);
    before = { seconds, bytes };
    return formatMoment({ machines, traffic, seconds, bytesPerSecond, isShort: output.isTTY });
  };
  const show = (): void => {
    if (output.isTTY) output.write(`\r\x1b[K${line().slice(0, LINE_LENGTH)}`);
    else print(output, line());
  };
  const timer = setInterval(show, output.isTTY ? LIVE_MS : LINES_MS);
  return () => {
    clearInterval(timer);
    if (output.isTTY) output.write('\r\x1b[K');
  };
}

function readFlags(flags: Record<string, string>): SimulateFlags {
  if (flags.hosts === undefined) {
    throw new RailheadError('RH_USAGE', 'How many hosts? Say --hosts N, or --remove to take them away.');
  }
  const megabytes = number('--image-size', flags.imageSize, 0.01, 4096);
  const bytes = Math.round(megabytes * 1024 * 1024);
  const kernelBytes = Math.round(bytes / 5);
  const { install } = flags;
  if (install !== 'ram' && install !== 'disk') throw usage('--install', 'ram or disk', install);
  return {
    hosts: whole('--hosts', flags.hosts, 1, MAX_SIMULATED_HOSTS),
    speed: readSpeed(flags.speed ?? ''),
    loss: number('--loss', flags.loss, 0, 0.5),
    seed: whole('--seed', flags.seed, 0, 2 ** 31 - 1),
    install,
    kernelBytes,
    initrdBytes: bytes - kernelBytes,
    tftp: flags.tftp === undefined ? undefined : readAddress(flags.tftp),
  };
}

/** 0 and "max" are the same: no pauses. */
function readSpeed(text: string): number {
  if (text === 'max' || Number(text) === 0) return Number.POSITIVE_INFINITY;
  return number('--speed', text, 0.1, 10_000);
}

function readAddress(text: string): { host: string; port: number } {
  const url = `tftp://${text}`;
  const port = URL.canParse(url) ? new URL(url).port : '';
  if (port === '') throw usage('--tftp', 'an address and a port such as 10.0.0.5:69', text);
  return { host: new URL(url).hostname.replaceAll(/[[\]]/g, ''), port: Number(port) };
}

function whole(flag: string, text: string | undefined, least: number, most: number): number {
  const value = number(flag, text, least, most);
  if (!Number.isInteger(value)) throw usage(flag, `a whole number from ${least} to ${most}`, text);
  return value;
}

function number(flag: string, text: string | undefined, least: number, most: number): number {
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text);
  if (value >= least && value <= most) return value;
  throw usage(flag, `a number from ${least} to ${most}`, text);
}

function usage(flag: string, expected: string, got: string | undefined): RailheadError {
  return new RailheadError('RH_USAGE', `${flag}: expected ${expected}, got "${got ?? ''}"`);
}
