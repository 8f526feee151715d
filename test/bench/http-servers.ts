import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { onPath } from '../../scripts/lib/run.mjs';
import type { LoadOrder, LoadResult } from './http-load.ts';
import type { ServeOrder } from './http-serve.ts';

/** A server under measurement: it has one core, the load has the other. */
export interface Server {
  name: string;
  port: number;
  cpuSeconds(): number;
  /** The most memory it has had so far, above what it had before its first request. */
  grownBytes(): number;
  stop(): void;
}

export const SERVER_CORE = '0';
export const LOAD_CORE = '1';

export async function startOurs(name: string, order: ServeOrder): Promise<Server> {
  const child = spawnOn(SERVER_CORE, process.execPath, [
    join(import.meta.dirname, 'http-serve.ts'),
    JSON.stringify(order),
  ]);
  const port = Number(await firstLine(child));
  return serverOf(name, port, child);
}

/** nginx with its best settings for large files on one core. */
export async function startNginx(
  program: { path: string; env: Record<string, string> },
  folder: string,
  scratch: string,
): Promise<Server> {
  const port = await freePort();
  const base = join(scratch, 'nginx');
  mkdirSync(join(base, 'logs'), { recursive: true });
  writeFileSync(
    join(base, 'nginx.conf'),
    `daemon off; worker_processes 1; user root; pid ${base}/pid; error_log ${base}/error.log crit;
     events { worker_connections 4096; }
     http {
       access_log off; sendfile on; sendfile_max_chunk 512k; tcp_nopush on; keepalive_requests 1000000;
       open_file_cache max=100; default_type application/octet-stream;
       ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${base}/${kind};`).join(' ')}
       server { listen 127.0.0.1:${port} backlog=4096; root ${folder}; }
     }`,
  );
  const args = ['-p', base, '-c', join(base, 'nginx.conf'), '-e', join(base, 'error.log')];
  const child = spawnOn(SERVER_CORE, program.path, args, program.env);
  await answers(port);
  return serverOf('nginx', port, child);
}

export async function runLoad(order: LoadOrder): Promise<LoadResult> {
  const child = spawnOn(LOAD_CORE, process.execPath, [
    join(import.meta.dirname, 'http-load.ts'),
    JSON.stringify(order),
  ]);
  return JSON.parse(await firstLine(child)) as LoadResult;
}

export function spawnOn(
  core: string,
  program: string,
  args: string[],
  env: Record<string, string> = {},
): ChildProcess {
  const [taskset] = onPath('taskset');
  const command = taskset === undefined ? [program, ...args] : [taskset, '-c', core, program, ...args];
  return spawn(command[0]!, command.slice(1), {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
}

export function serverOf(name: string, port: number, child: ChildProcess): Server {
  const processes = (): string[] => [String(child.pid), ...childrenOf(child.pid!)];
  const sum = (of: (pid: string) => number): number => processes().reduce((total, pid) => total + of(pid), 0);
  const atRest = sum(peakOf);
  return {
    name,
    port,
    cpuSeconds: () => sum(cpuOf),
    grownBytes: () => sum(peakOf) - atRest,
    stop: () => child.kill('SIGTERM'),
  };
}

const TICKS = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

function cpuOf(pid: string): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

function peakOf(pid: string): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

function childrenOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
  );
}

export function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let out = '';
    child.stdout!.on('data', (data) => {
      out += data;
      if (out.includes('\n')) resolve(out.split('\n')[0]!);
    });
    child.once('exit', (code) => reject(new Error(`ended with ${code} before it said anything`)));
  });
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export async function answers(port: number): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    try {
      await fetch(`http://127.0.0.1:${port}/`);
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  throw new Error(`nothing answers on port ${port}`);
}
