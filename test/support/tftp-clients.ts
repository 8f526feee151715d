import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureParts } from '../../scripts/lib/parts.mjs';
import { PATIENCE_MS } from './poll.ts';
import type { Address } from './tftp-server.ts';

export interface GetOptions {
  /** Asked for by those who can; 512 without. */
  blksize?: number;
  windowsize?: number;
  tsize?: boolean;
  mode?: 'octet' | 'netascii';
  deadlineMs?: number;
}

export interface Outcome {
  /** What was fetched; `undefined` when the client wrote no file. */
  content: Buffer | undefined;
  /** Not to be trusted: see each client. */
  code: number | null;
  /** All that the client said. */
  output: string;
  seconds: number;
}

/** A real program, the same for all of them to use. */
export interface TftpClient {
  name: string;
  version: string;
  /** Options that it can be made to ask for. */
  can: { blksize: boolean; windowsize: boolean; tsize: boolean; netascii: boolean };
  get(from: Address, file: string, options?: GetOptions): Promise<Outcome>;
  put(to: Address, file: string, content: string): Promise<Outcome>;
}

/** One of the clients with the options it is run with. */
export interface Way {
  name: string;
  client: TftpClient;
  options: GetOptions;
  /** Blocks are acknowledged one at a time. */
  isLockstep: boolean;
}

/** Every client with the options that make a difference. */
export function waysOf(clients: readonly TftpClient[]): Way[] {
  return clients.flatMap((client) => {
    const { blksize, windowsize, tsize } = client.can;
    const options: GetOptions[] = [
      {},
      ...(blksize ? [{ blksize: 1432, tsize }] : []),
      ...(windowsize ? [{ blksize: 1432, windowsize: 16, tsize }] : []),
    ];
    return options.map((one) => ({
      name: [client.name, one.blksize ?? 512, ...(one.windowsize ? [`window ${one.windowsize}`] : [])].join(
        ' ',
      ),
      client,
      options: one,
      isLockstep: one.windowsize === undefined,
    }));
  });
}

/** Why a client can't have a file of this size, whatever the server does. */
export function cannotGet({ client, options }: Way, size: number): string | undefined {
  if (client.name === 'curl' && size === 0 && options.tsize) return 'curl takes "tsize 0" for an error';
  return undefined;
}

/** `identical`, or what is different: for messages that don't show megabytes. */
export function compare({ content, code, output }: Outcome, expected: Buffer): string {
  if (content === undefined) return `nothing came (exit ${code}): ${output.slice(-500)}`;
  if (content.equals(expected))
    return code === 0 ? 'identical' : `identical, but exit ${code}: ${output.slice(-500)}`;
  const at = expected.findIndex((byte, index) => byte !== content[index]);
  return `${content.length} of ${expected.length} bytes, different at ${at} (exit ${code}): ${output.slice(-500)}`;
}

interface Part {
  path: string;
  env: Record<string, string>;
  version: string;
}

/** The arguments for one run; `local` is the file to write or to read. */
type Arguments = (at: Address, file: string, local: string, options: GetOptions) => string[];

/** All that can be had here; for each that can't, `ensureParts` says so loudly. */
export async function tftpClients(): Promise<TftpClient[]> {
  const { tftpHpa, atftp, curl, busybox } = await ensureParts(['tftpHpa', 'atftp', 'curl', 'busybox']);
  return [
    tftpHpa && makeClient('tftp-hpa', tftpHpa, HPA),
    atftp && makeClient('atftp', atftp, ATFTP),
    curl && makeClient('curl', curl, CURL),
    busybox && makeClient('busybox', busybox, BUSYBOX),
  ].filter((client) => client !== undefined);
}

interface Behaviour {
  can: TftpClient['can'];
  get: Arguments;
  put: Arguments;
}

/** Knows no options at all: always 512 bytes in lockstep. */
const HPA: Behaviour = {
  can: { blksize: false, windowsize: false, tsize: false, netascii: true },
  get: ({ address, port }, file, local, { mode }) => [
    ...['-m', mode === 'netascii' ? 'netascii' : 'binary', address, String(port), '-c', 'get', file, local],
  ],
  put: ({ address, port }, file, local) => [
    ...['-m', 'binary', address, String(port), '-c', 'put', local, file],
  ],
};

const ATFTP: Behaviour = {
  can: { blksize: true, windowsize: true, tsize: true, netascii: true },
  get: ({ address, port }, file, local, { blksize, windowsize, tsize, mode }) => [
    ...(blksize === undefined ? [] : ['--option', `blksize ${blksize}`]),
    ...(windowsize === undefined ? [] : ['--option', `windowsize ${windowsize}`]),
    ...(tsize ? ['--option', 'tsize 0'] : []),
    ...(mode === undefined ? [] : ['--option', `mode ${mode}`]),
    ...['--get', '--remote-file', file, '--local-file', local, address, String(port)],
  ],
  put: ({ address, port }, file, local) => [
    ...['--put', '--remote-file', file, '--local-file', local, address, String(port)],
  ],
};

/** Asks for tsize, blksize and timeout unless it is told not to. */
const CURL: Behaviour = {
  can: { blksize: true, windowsize: false, tsize: true, netascii: true },
  get: (at, file, local, { blksize, tsize, mode }) => [
    ...['--silent', '--show-error', '--path-as-is', '--output', local],
    ...(blksize === undefined ? [] : ['--tftp-blksize', String(blksize)]),
    ...(blksize === undefined && !tsize ? ['--tftp-no-options'] : []),
    url(at, file) + (mode === undefined ? '' : `;mode=${mode}`),
  ],
  put: (at, file, local) => ['--silent', '--show-error', '--upload-file', local, url(at, file)],
};

/** Asks for tsize only together with blksize. */
const BUSYBOX: Behaviour = {
  can: { blksize: true, windowsize: false, tsize: true, netascii: false },
  get: ({ address, port }, file, local, { blksize }) => [
    ...['tftp', '-g', ...(blksize === undefined ? [] : ['-b', String(blksize)])],
    ...['-r', file, '-l', local, address, String(port)],
  ],
  put: ({ address, port }, file, local) => ['tftp', '-p', '-r', file, '-l', local, address, String(port)],
};

function makeClient(name: string, part: Part, { can, get, put }: Behaviour): TftpClient {
  return {
    name,
    version: part.version,
    can,
    get: (from, file, options = {}) =>
      inFolder(async (dir) => {
        const local = join(dir, 'got');
        const ran = await run(part, get(from, file, local, options), options.deadlineMs);
        return { ...ran, content: await readFile(local).catch(() => undefined) };
      }),
    put: (to, file, content) =>
      inFolder(async (dir) => {
        const local = join(dir, 'given');
        await writeFile(local, content);
        return { ...(await run(part, put(to, file, local, {}))), content: undefined };
      }),
  };
}

function url({ address, port }: Address, file: string): string {
  return `tftp://${address.includes(':') ? `[${address}]` : address}:${port}/${file}`;
}

async function inFolder<T>(work: (dir: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), 'railhead-tftp-client-'));
  try {
    return await work(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

function run(
  { path, env }: Part,
  args: string[],
  deadlineMs = 2 * PATIENCE_MS,
): Promise<Omit<Outcome, 'content'>> {
  const start = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(path, args, {
      cwd: '/',
      env: { PATH: process.env.PATH, LC_ALL: 'C', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: deadlineMs,
      killSignal: 'SIGKILL',
    });
    let output = '';
    const keep = (chunk: Buffer): void => {
      output += chunk;
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (signal === 'SIGKILL') output += `\n(killed after ${deadlineMs} ms)`;
      resolve({ code, output, seconds: (performance.now() - start) / 1000 });
    });
  });
}
