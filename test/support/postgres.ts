// A private PostgreSQL for tests: a cluster of its own in a temporary folder, gone after stop().
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, chownSync, constants, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Part } from '../../scripts/lib/parts.mjs';

export interface TestPostgres {
  /** The maintenance database: for SQL about the server. Tests take a database of their own. */
  url: string;
  /** The URL of a new, empty database. */
  createDatabase(): Promise<string>;
  stop(): Promise<void>;
}

interface Account {
  uid: number;
  gid: number;
}

interface Server {
  child: ChildProcess;
  port: number;
}

const USER = 'railhead';
const START_DEADLINE_MS = 120_000;
const STOP_DEADLINE_MS = 60_000;

/** Starts a server from the part `postgres` of ensureParts(['postgres']). */
export async function startPostgres(parts: { postgres: Part | undefined }): Promise<TestPostgres> {
  const part = parts.postgres;
  if (!part)
    throw new Error("No PostgreSQL: ask ensureParts(['postgres']) and skip the test when it has none.");
  const account = unprivileged();
  if (account && !canReach(part.path, account)) {
    throw new Error(`PostgreSQL does not run as root, and no other user may enter ${part.path}.`);
  }
  const folder = temporaryFolder(account);
  try {
    await initialise(part, folder, account);
    const { child, port } = await launch(part, folder, account);
    return handle(child, port, folder);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** The URL of a new, empty database on the server behind `url`: for a worker that was only told the URL. */
export async function createDatabase(url: string): Promise<string> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  // template0: nobody can be connected to it, which would make this fail.
  await query({ connectionString: url }, `CREATE DATABASE ${name} TEMPLATE template0`);
  const created = new URL(url);
  created.pathname = `/${name}`;
  return created.href;
}

function handle(child: ChildProcess, port: number, folder: string): TestPostgres {
  const url = `postgres://${USER}@127.0.0.1:${port}/postgres`;
  const abandon = () => {
    child.kill('SIGQUIT');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200); // let it end before its files go
    removeFolder(folder);
  };
  process.once('exit', abandon); // a test run that ends without stop()
  let stopped: Promise<void> | undefined;
  return {
    url,
    createDatabase: () => createDatabase(url),
    stop: () => {
      stopped ??= end(child).finally(() => {
        process.off('exit', abandon);
        removeFolder(folder);
      });
      return stopped;
    },
  };
}

async function initialise(part: Part, folder: string, account: Account | undefined): Promise<void> {
  const options = ['--auth=trust', '--encoding=UTF8', '--no-locale', '--no-sync'];
  const args = ['-D', join(folder, 'data'), '-U', USER, ...options];
  const child = spawn(join(part.path, 'initdb'), args, surroundings(part, folder, account));
  const output = collect(child);
  const code = await exitOf(child, START_DEADLINE_MS).catch((error: Error) => error.message);
  if (code === 0) return;
  child.kill('SIGKILL');
  throw new Error(`initdb failed (${code}) in ${folder}. It said: ${await output()}`);
}

async function launch(part: Part, folder: string, account: Account | undefined): Promise<Server> {
  const deadline = Date.now() + START_DEADLINE_MS;
  for (;;) {
    const port = await freePort();
    const child = spawnServer(part, folder, account, port);
    const output = collect(child);
    const problem = await ready(child, folder, port, deadline);
    if (problem === undefined) return { child, port };
    await end(child);
    const log = await output();
    // Somebody took the port after we had found it free.
    if (!/address already in use/i.test(log) || Date.now() > deadline) {
      throw new Error(`PostgreSQL ${part.version} did not start: ${problem}. It said: ${log}`);
    }
  }
}

function spawnServer(part: Part, folder: string, account: Account | undefined, port: number): ChildProcess {
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: folder,
    // Nothing here has to survive a crash.
    fsync: 'off',
    full_page_writes: 'off',
    synchronous_commit: 'off',
    jit: 'off', // an unpacked server has no LLVM
    timezone: 'GMT',
    max_connections: '200',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const command = [join(part.path, 'postgres'), '-D', join(folder, 'data'), ...args];
  // The kernel stops the server when this process dies, however it dies. setpriv then becomes the server.
  const setpriv = ['/usr/bin/setpriv', '/bin/setpriv'].find(isExecutable);
  if (setpriv) command.unshift(setpriv, '--pdeathsig', 'INT', '--');
  const [program = '', ...rest] = command;
  return spawn(program, rest, surroundings(part, folder, account));
}

/** Waits until the server answers. Asked on its own socket, so that no other server can answer for it. */
async function ready(
  child: ChildProcess,
  socketFolder: string,
  port: number,
  deadline: number,
): Promise<string | undefined> {
  const socket = { host: socketFolder, port, user: USER, database: 'postgres' };
  let failure: Error | undefined;
  child.once('error', (error) => {
    failure = error;
  });
  for (let last = 'no answer'; ; await sleep(25)) {
    if (failure) return failure.message;
    if (hasEnded(child)) return `it ended with ${child.signalCode ?? `exit code ${child.exitCode}`}`;
    try {
      await query(socket, 'SELECT 1');
      return undefined;
    } catch (error) {
      last = error instanceof Error ? error.message : String(error);
    }
    if (Date.now() > deadline) return `no connection within ${START_DEADLINE_MS / 1000} s (last: ${last})`;
  }
}

/** A fast shutdown: open connections are cut. Harder means only when that takes too long. */
async function end(child: ChildProcess): Promise<void> {
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
    if (hasEnded(child)) return;
    child.kill(signal);
    await exitOf(child, STOP_DEADLINE_MS).catch(() => undefined);
  }
}

async function query(server: pg.ClientConfig, sql: string): Promise<void> {
  const client = new pg.Client({ ...server, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined); // the connection may be cut by a shutdown
  try {
    await client.connect();
    await client.query(sql);
  } finally {
    await client.end().catch(() => undefined);
  }
}

function surroundings(part: Part, folder: string, account: Account | undefined) {
  return {
    cwd: folder, // PostgreSQL wants to know where it is; our own folder may be closed to its user
    env: { PATH: process.env.PATH, LC_ALL: 'C', ...part.env },
    stdio: ['ignore', 'pipe', 'pipe'] as ['ignore', 'pipe', 'pipe'],
    ...account,
  };
}

/** PostgreSQL refuses to run as root: the user `nobody` stands in. */
function unprivileged(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const line = /^nobody:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'));
  return { uid: Number(line?.[1] ?? 65534), gid: Number(line?.[2] ?? 65534) };
}

function temporaryFolder(account: Account | undefined): string {
  const bases = [tmpdir(), '/tmp', '/var/tmp'];
  const base = account ? bases.find((path) => canReach(path, account)) : bases[0];
  if (base === undefined) throw new Error(`No other user may enter any of ${bases.join(', ')}: set TMPDIR.`);
  const folder = mkdtempSync(join(base, 'railhead-pg-'));
  if (account) chownSync(folder, account.uid, account.gid);
  return folder;
}

/** Whether every folder on the way lets this account through. */
function canReach(path: string, { uid, gid }: Account): boolean {
  for (let folder = path; ; folder = dirname(folder)) {
    const stat = statSync(folder, { throwIfNoEntry: false });
    if (!stat) return false;
    const bit = stat.uid === uid ? 0o100 : stat.gid === gid ? 0o010 : 0o001;
    if ((stat.mode & bit) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('No free port on 127.0.0.1.');
  return address.port;
}

/** What the process has said, the end of it. To be asked once it has ended. */
function collect(child: ChildProcess): () => Promise<string> {
  let text = '';
  const take = (chunk: Buffer) => {
    text = (text + chunk.toString()).slice(-4_000);
  };
  child.stdout?.on('data', take);
  child.stderr?.on('data', take);
  const closed = once(child, 'close').catch(() => undefined);
  return async () => {
    await Promise.race([closed, sleep(1_000)]);
    return text.trim() || '(nothing)';
  };
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

async function exitOf(child: ChildProcess, milliseconds: number): Promise<number | string> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode ?? child.signalCode ?? '';
  const [code, signal] = await once(child, 'exit', { signal: AbortSignal.timeout(milliseconds) });
  return code ?? signal;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function removeFolder(folder: string): void {
  // A backend may still be writing its last file.
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
}
