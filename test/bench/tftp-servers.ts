import { type ChildProcess, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Part } from '../../scripts/lib/parts.mjs';
import { encodeRequest } from '../../server/tftp/codec.ts';
import { Usage } from './tftp-usage.ts';

export type ServerName =
  | 'tftpdHpa'
  | 'tftpdHpaNew'
  | 'atftpd'
  | 'dnsmasq'
  | 'dnsmasqNew'
  | 'railhead'
  | 'railheadPlain';

export type PeerName = Exclude<ServerName, 'railhead' | 'railheadPlain'>;

export interface Server {
  name: ServerName;
  title: string;
  /** Windowed runs of one that doesn't know windows would only repeat the lockstep ones. */
  hasWindows: boolean;
  address: string;
  port: number;
  usage: Usage;
  stop: () => Promise<void>;
}

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill();
});

/** Port 69 is the only one that dnsmasq knows. */
const PORT = 6969;
const DNSMASQ_PORT = 69;
/** More than any scenario has; some limit it to 50 by themselves. */
const MOST = '2000';

interface Launch {
  command: string[];
  env?: Record<string, string>;
  port: number;
}

/** Each peer with the settings that suit it best; its retransmission timers are its own. */
const PEERS: Record<PeerName, (part: Part, address: string, folder: string) => Launch> = {
  tftpdHpa: launchHpa,
  tftpdHpaNew: launchHpa,
  atftpd: (part, address, folder) => ({
    ...programOf(part, [
      ...['--daemon', '--no-fork', '--prevent-sas', '--port', String(PORT), '--bind-address', address],
      ...['--maxthread', MOST, '--user', 'root.root', '--logfile', '/dev/null', folder],
    ]),
    port: PORT,
  }),
  dnsmasq: launchDnsmasq,
  dnsmasqNew: launchDnsmasq,
};

function launchHpa(part: Part, address: string, folder: string): Launch {
  const args = ['-L', '-4', '-a', `${address}:${PORT}`, '-u', 'root', '-s', folder];
  return { ...programOf(part, args), port: PORT };
}

function launchDnsmasq(part: Part, address: string, folder: string): Launch {
  return {
    ...programOf(part, [
      ...['--keep-in-foreground', '--conf-file=/dev/null', '--pid-file=', '--user=root', '--group=root'],
      ...['--port=0', `--listen-address=${address}`, '--bind-interfaces', '--log-facility=/dev/null'],
      ...['--enable-tftp', `--tftp-root=${folder}`, `--tftp-max=${MOST}`, '--quiet-tftp'],
    ]),
    port: DNSMASQ_PORT,
  };
}

function programOf({ loader, path, env }: Part, args: string[]): Pick<Launch, 'command' | 'env'> {
  return { command: [...loader, path, ...args], env };
}

export interface StartOptions {
  folder: string;
  /** A small file in it. */
  probe: string;
  /** What goes before each command line. */
  prefix: string[];
}

export async function startPeer(
  name: PeerName,
  part: Part,
  address: string,
  options: StartOptions,
): Promise<Server> {
  const launch = PEERS[name](part, address, options.folder);
  const title = `${name.replace('New', '').replace('tftpdHpa', 'tftpd-hpa')} ${part.version}`;
  const hasWindows = name !== 'tftpdHpa' && name !== 'dnsmasq';
  return { name, title, hasWindows, ...(await start(launch, address, options)) };
}

export async function startRailhead(
  name: 'railhead' | 'railheadPlain',
  address: string,
  options: StartOptions,
): Promise<Server> {
  const program = fileURLToPath(new URL('tftp-serve.ts', import.meta.url));
  const how = name === 'railhead' ? 'native' : 'plain';
  const command = [process.execPath, program, address, String(PORT), options.folder, how];
  const title = name === 'railhead' ? 'Railhead' : 'Railhead, plain JS';
  return { name, title, hasWindows: true, ...(await start({ command, port: PORT }, address, options)) };
}

async function start(
  { command, env, port }: Launch,
  address: string,
  { prefix, probe }: StartOptions,
): Promise<Pick<Server, 'address' | 'port' | 'usage' | 'stop'>> {
  const [program = '', ...args] = [...prefix, ...command];
  const child = spawn(program, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  running.add(child);
  child.on('exit', () => running.delete(child));
  let complaint = '';
  child.stderr.on('data', (chunk) => {
    complaint = `${complaint}${chunk}`.slice(0, 1000);
  });
  child.on('error', (error) => {
    complaint = error.message;
  });
  for (let tries = 0; tries < 50; tries++) {
    if (await answers(address, port, probe)) {
      const usage = new Usage(child.pid!);
      return { address, port, usage, stop: () => stop(child, usage) };
    }
    if (child.exitCode !== null || child.pid === undefined) break;
    await sleep(100);
  }
  child.kill();
  throw new Error(complaint.trim().split('\n')[0] || `it does not answer (exit code ${child.exitCode})`);
}

async function stop(child: ChildProcess, usage: Usage): Promise<void> {
  const ended = once(child, 'exit');
  child.kill();
  await ended;
  usage.end();
}

/** Whether a request for that file is answered with anything at all; the answer is not taken up. */
async function answers(address: string, port: number, filename: string): Promise<boolean> {
  const socket = createSocket('udp4');
  try {
    return await new Promise<boolean>((resolve) => {
      socket.on('message', () => resolve(true));
      socket.on('error', () => resolve(false));
      socket.send(encodeRequest({ type: 'read', filename, mode: 'octet', options: {} }), port, address);
      setTimeout(() => resolve(false), 300);
    });
  } finally {
    socket.close();
  }
}
