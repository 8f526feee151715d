import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ensureParts, type Part } from '../../scripts/lib/parts.mjs';
import { percentile } from './measure.ts';
import type { LoadOrder, LoadResult } from './tftp-load.ts';
import { type PeerName, type Server, type ServerName, startPeer, startRailhead } from './tftp-servers.ts';
import { type Row, targetTable, timesTable } from './tftp-tables.ts';
import { machineBusySeconds } from './tftp-usage.ts';

/**
 * Our TFTP server and others', the same downloads by the same client; one processor for the server, one for the client.
 *
 *   RAILHEAD_BENCH_ROUNDS=3     runs of each scenario with each server, in turn; medians count
 *   RAILHEAD_BENCH_ONLY=REGEX   only scenarios whose title matches
 *   RAILHEAD_BENCH_KEEP=1       put the tables into docs/benchmarks.md
 */
const { RAILHEAD_BENCH_ROUNDS, RAILHEAD_BENCH_ONLY, RAILHEAD_BENCH_KEEP } = process.env;
const ROUNDS = Number(RAILHEAD_BENCH_ROUNDS ?? 3);
const PEERS: PeerName[] = ['tftpdHpa', 'tftpdHpaNew', 'atftpd', 'dnsmasq', 'dnsmasqNew'];
const SELF = fileURLToPath(import.meta.url);
const LOAD = fileURLToPath(new URL('tftp-load.ts', import.meta.url));
const DOCUMENT = fileURLToPath(new URL('../../docs/benchmarks.md', import.meta.url));
const BLOCK_SIZE = 1428;
/** A run during which others took more than this part of the machine is repeated, a few times. */
const MAX_DISTURBANCE = 0.1;
const MAX_REPEATS = 2;
const MAX_WAIT_MS = 3000;
const MAX_REPEATED_SECONDS = 10;
/** What the client takes to get going, before it counts. */
const START_SECONDS = 0.15;

interface Scenario {
  title: string;
  /** Megabytes. */
  file: 1 | 4 | 32;
  transfers: number;
  windowSize: number;
  delay?: number;
  loss?: number;
}

const SCENARIOS: Scenario[] = [
  { title: '1 transfer, window 1', file: 4, transfers: 1, windowSize: 1 },
  { title: '1 transfer, window 16', file: 32, transfers: 1, windowSize: 16 },
  { title: '1 transfer, window 64', file: 32, transfers: 1, windowSize: 64 },
  { title: '100 at once, window 1', file: 1, transfers: 100, windowSize: 1 },
  { title: '100 at once, window 16', file: 4, transfers: 100, windowSize: 16 },
  { title: '500 at once, window 1', file: 1, transfers: 500, windowSize: 1 },
  { title: '500 at once, window 16', file: 1, transfers: 500, windowSize: 16 },
  // Over links a few go side by side: it is their mean that counts, not the luck of one.
  { title: '1 ms, window 1', file: 1, transfers: 8, windowSize: 1, delay: 1 },
  { title: '1 ms, window 16', file: 1, transfers: 8, windowSize: 16, delay: 1 },
  { title: '10 ms, window 1', file: 1, transfers: 8, windowSize: 1, delay: 10 },
  { title: '10 ms, window 16', file: 1, transfers: 8, windowSize: 16, delay: 10 },
  { title: '1 ms, 1 % lost, window 1', file: 1, transfers: 8, windowSize: 1, delay: 1, loss: 0.01 },
  { title: '1 ms, 1 % lost, window 16', file: 1, transfers: 8, windowSize: 16, delay: 1, loss: 0.01 },
];
const MEMORY: Scenario = { title: 'memory, 500 at once, window 16', file: 1, transfers: 500, windowSize: 16 };

interface Run extends LoadResult {
  serverSeconds: number;
  /** What others took of the machine meanwhile, from 0 to 1. */
  disturbance: number;
}

type Parts = Partial<Record<PeerName, Part | undefined>>;
const inside = process.argv[2];
if (inside === undefined) await enterNamespace(await ensureParts(PEERS));
else await bench(JSON.parse(inside) as Parts);

/** A network of our own, where nobody else's servers are and every port is free, for anybody. */
async function enterNamespace(parts: Parts): Promise<void> {
  const flags = process.getuid?.() === 0 ? ['--net'] : ['--net', '--map-root-user'];
  const self = [process.execPath, SELF, JSON.stringify(parts)];
  // One address must not be a loopback one: tftpd-hpa 5 takes a machine with none for one without IPv4.
  const script = 'ip link set lo up && ip address add 192.0.2.1/32 dev lo && exec "$@"';
  const hasNamespaces = spawnSync('unshare', [...flags, 'ip', 'link']).status === 0;
  if (!hasNamespaces)
    console.error('No network namespace of our own here: using the loopback of the machine.');
  const [program = '', ...args] = hasNamespaces
    ? ['unshare', ...flags, 'sh', '-c', script, 'sh', ...self]
    : self;
  process.exitCode = spawnSync(program, args, { stdio: 'inherit' }).status ?? 1;
}

async function bench(parts: Parts): Promise<void> {
  // Servers are stopped at the exit.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));
  const folder = await mkdtemp(join(tmpdir(), 'railhead-bench-'));
  await chmod(folder, 0o755);
  for (const size of [1, 4, 32]) await writeFile(join(folder, `${size}.bin`), randomBytes(size * 1e6));
  await writeFile(join(folder, 'probe'), 'probe');
  const isWanted = ({ title }: Scenario): boolean => new RegExp(RAILHEAD_BENCH_ONLY ?? '').test(title);
  try {
    const titles = new Map<ServerName, string>();
    const rows: Row[] = [];
    await withServers(parts, folder, async (servers) => {
      for (const { name, title } of servers) titles.set(name, title);
      for (const scenario of SCENARIOS.filter(isWanted)) rows.push(await measure(scenario, servers, folder));
    });
    // Fresh ones: those have grown already.
    const memory = new Map<ServerName, number>();
    await withServers(parts, folder, async (servers) => {
      if (!isWanted(MEMORY)) return;
      for (const server of servers) memory.set(server.name, await measureMemory(server, folder));
    });
    const text = `${timesTable(titles, rows, memory)}\n\n${targetTable(titles, rows, memory)}`;
    console.log(`\n${machine()}\n\n${text}`);
    if (RAILHEAD_BENCH_KEEP === '1') keep(text);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function withServers(
  parts: Parts,
  folder: string,
  work: (servers: Server[]) => Promise<void>,
): Promise<void> {
  const servers: Server[] = [];
  try {
    await startAll(servers, parts, folder);
    await work(servers);
  } finally {
    for (const server of servers) await server.stop();
  }
}

async function startAll(servers: Server[], parts: Parts, folder: string): Promise<void> {
  const options = { folder, probe: 'probe', prefix: pinned('first') };
  const names: ServerName[] = [...PEERS, 'railhead', 'railheadPlain'];
  for (const [index, name] of names.entries()) {
    const address = `127.77.0.${index + 1}`;
    try {
      if (name === 'railhead' || name === 'railheadPlain') {
        servers.push(await startRailhead(name, address, options));
      } else if (parts[name] !== undefined) {
        servers.push(await startPeer(name, parts[name], address, options));
      }
    } catch (error) {
      console.error(`SKIPPED: ${name}: ${(error as Error).message}`);
    }
  }
}

async function measure(scenario: Scenario, servers: Server[], folder: string): Promise<Row> {
  // Without windows it would be the lockstep scenario once more; the first is what all are compared with.
  const able = servers.filter(({ name, hasWindows }) => {
    return scenario.windowSize === 1 || hasWindows || name === 'tftpdHpa';
  });
  const runs = new Map<ServerName, Run[]>(able.map(({ name }) => [name, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const server of able) runs.get(server.name)!.push(await runQuietly(scenario, server, folder, round));
  }
  const row: Row = { title: scenario.title, isLink: scenario.delay !== undefined, cells: new Map() };
  for (const { name, title } of able) {
    const its = runs.get(name)!;
    const median = (value: (run: Run) => number): number => percentile(its.map(value), 50);
    const cell = {
      seconds: median(({ seconds, meanSeconds }) => (row.isLink ? meanSeconds : seconds)),
      megabytesPerSecond: median(({ bytes, seconds }) => bytes / 1e6 / seconds),
      cpuPerGigabyte: median(({ bytes, serverSeconds }) => serverSeconds / (bytes / 1e9)),
      clientBusy: median(({ cpuSeconds, seconds }) => cpuSeconds / seconds),
      failed: its.reduce((total, { failed }) => total + failed, 0),
      disturbance: median(({ disturbance }) => disturbance),
    };
    row.cells.set(name, cell);
    const speed = row.isLink ? `${cell.seconds.toFixed(3)} s` : `${cell.megabytesPerSecond.toFixed(1)} MB/s`;
    const faults = its.flatMap(({ firstFault }) => firstFault ?? []);
    console.error(
      `  ${scenario.title}: ${title}: ${speed}, ${cell.cpuPerGigabyte.toFixed(2)} CPU s/GB, client ` +
        `${percent(cell.clientBusy)} busy, others ${percent(cell.disturbance)}` +
        (cell.failed > 0 ? `, ${cell.failed} FAILED: ${faults[0]}` : ''),
    );
  }
  return row;
}

/** When others are quiet; once more when they were not, and the quietest of those runs. */
async function runQuietly(scenario: Scenario, server: Server, folder: string, round: number): Promise<Run> {
  await quiet();
  let best = await run(scenario, server, folder, round);
  for (let repeat = 0; isDisturbed(best) && repeat < MAX_REPEATS; repeat++) {
    await quiet();
    const next = await run(scenario, server, folder, round);
    if (next.disturbance < best.disturbance) best = next;
  }
  return best;
}

/** Long runs mostly wait for timers, and others don't hold those up. */
function isDisturbed({ disturbance, seconds }: Run): boolean {
  return disturbance > MAX_DISTURBANCE && seconds < MAX_REPEATED_SECONDS;
}

/** Waits for others to leave the machine alone, but not for ever. */
async function quiet(): Promise<void> {
  for (let waited = 0; waited < MAX_WAIT_MS; waited += 500) {
    const before = machineBusySeconds();
    await sleep(500);
    if ((machineBusySeconds() - before) / (0.5 * availableParallelism()) <= MAX_DISTURBANCE) return;
  }
}

async function run(scenario: Scenario, server: Server, folder: string, round: number): Promise<Run> {
  const { usage } = server;
  const serverBefore = usage.cpuSeconds;
  const busyBefore = machineBusySeconds();
  const startedAt = performance.now();
  const result = await download(scenario, server, folder, round);
  const elapsed = (performance.now() - startedAt) / 1000;
  const busy = machineBusySeconds() - busyBefore;
  const serverSeconds = usage.cpuSeconds - serverBefore;
  const others = Math.max(0, busy - serverSeconds - result.cpuSeconds - START_SECONDS);
  await sleep(100); // what was still under way
  return { ...result, serverSeconds, disturbance: others / (elapsed * availableParallelism()) };
}

async function download(
  { file, transfers, windowSize, delay = 0, loss = 0 }: Scenario,
  { address, port }: Server,
  folder: string,
  round: number,
): Promise<LoadResult> {
  const name = `${file}.bin`;
  const order: LoadOrder = {
    address,
    port,
    name,
    path: join(folder, name),
    transfers,
    blockSize: BLOCK_SIZE,
    windowSize,
    delay,
    loss,
    seed: round + 1,
    maxSeconds: 120,
  };
  const [program = '', ...args] = [...pinned('last'), process.execPath, LOAD, JSON.stringify(order)];
  const { stdout } = await promisify(execFile)(program, args);
  return JSON.parse(stdout) as LoadResult;
}

/** How many bytes a server grows by, from one finished transfer to the height of many. */
async function measureMemory(server: Server, folder: string): Promise<number> {
  await download({ ...MEMORY, transfers: 1 }, server, folder, 0);
  await sleep(500);
  const { usage } = server;
  const before = usage.memory;
  let peak = before;
  const sampler = setInterval(() => {
    peak = Math.max(peak, usage.memory);
  }, 100);
  await download(MEMORY, server, folder, 0);
  clearInterval(sampler);
  console.error(`  ${MEMORY.title}: ${server.title}: + ${((peak - before) / 1e6).toFixed(1)} MB`);
  return peak - before;
}

/** Servers on the first processor, the client on the last: neither takes the other's time. */
function pinned(place: 'first' | 'last'): string[] {
  const processors = availableParallelism();
  return processors < 2 ? [] : ['taskset', '-c', place === 'first' ? '0' : String(processors - 1)];
}

function machine(): string {
  const system = /^PRETTY_NAME="(.*?)(?: \(.*\))?"$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1];
  const date = new Date().toISOString().slice(0, 10);
  return (
    `${date}, ${availableParallelism()} cores, ${system ?? process.platform}, Node ${process.versions.node}, ` +
    `medians of ${ROUNDS} interleaved runs, load ${loadavg()[2]!.toFixed(1)}`
  );
}

function keep(text: string): void {
  const [before = '', after = ''] = readFileSync(DOCUMENT, 'utf8').split(/<!-- tftp -->.*<!-- \/tftp -->/s);
  writeFileSync(DOCUMENT, `${before}<!-- tftp -->\n${machine()}.\n\n${text}\n<!-- /tftp -->${after}`);
}

function percent(part: number): string {
  return `${Math.round(part * 100)} %`;
}
