import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile, ratio, report } from './measure.ts';

/** The preview of a host's configuration: kept, made anew, and bare Node answering the same bytes; 10 and 10,000 hosts. */
const CONNECTIONS = 50;
const SECONDS = 4;
const ROUNDS = 3;
const ROOT = join(import.meta.dirname, '..', '..');

const scratch = mkdtempSync(join(tmpdir(), 'railhead-bench-ignition-'));
const children: ChildProcess[] = [];
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(scratch, { recursive: true, force: true });
});

interface Served {
  port: number;
  hosts: number;
  token: string;
}

async function appliance(hosts: number): Promise<Served> {
  const dir = join(scratch, String(hosts));
  mkdirSync(join(dir, 'inventory'), { recursive: true });
  const lines = Array.from({ length: hosts }, (_, n) => {
    const hex = n.toString(16).padStart(6, '0');
    const mac = `52:54:00:${hex.slice(0, 2)}:${hex.slice(2, 4)}:${hex.slice(4)}`;
    return `  - {name: n${n}, pool: p, macs: ['${mac}']}`;
  });
  writeFileSync(
    join(dir, 'inventory', 'bench.yaml'),
    `clusters: [{name: lab, kubernetes: 1.36.4, containerd: 2.1.5}]
profiles: [{name: f, os: flatcar, version: 4593.2.5}]
pools: [{name: p, cluster: lab, profile: f}]
hosts:
${lines.join('\n')}
`,
  );
  const flags = ['--http-port', '0', '--https-port', '0', '--tftp-port', '0', '--bind', '127.0.0.1'];
  const child = spawn(
    process.execPath,
    [
      join(ROOT, 'server', 'main.ts'),
      'up',
      '--data',
      join(dir, 'data'),
      '--inventory',
      join(dir, 'inventory'),
      ...flags,
    ],
    { stdio: 'ignore', env: { ...process.env, RAILHEAD_ASSETS: join(dir, 'assets') } },
  );
  children.push(child);
  for (;;) {
    await sleep(200);
    if (child.exitCode !== null) throw new Error('the appliance did not start');
    try {
      const { httpPort: port } = JSON.parse(readFileSync(join(dir, 'data', 'server.json'), 'utf8'));
      const token = readFileSync(join(dir, 'data', 'keys', 'admin-token'), 'utf8').trim();
      return { port, hosts, token };
    } catch {
      // not yet
    }
  }
}

/** Node's own server, and nothing else. */
async function bare(body: string): Promise<Served> {
  const file = join(scratch, 'body');
  writeFileSync(file, body);
  const code = `const body = require('node:fs').readFileSync(process.argv[1]);
require('node:http').createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
}).listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;
  const child = spawn(process.execPath, ['-e', code, file], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const port = await new Promise<number>((resolve) =>
    child.stdout!.once('data', (line) => resolve(Number(line))),
  );
  return { port, hosts: 1, token: '' };
}

/** Answers in a second, and the time that the slowest one in a hundred took. */
async function load({ port, hosts, token }: Served, pathOf: (host: string) => string) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const headers = token === '' ? {} : { authorization: `Bearer ${token}` };
  const times: number[] = [];
  const end = performance.now() + SECONDS * 1000;
  let next = 0;
  const ask = (path: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const outgoing = request({ host: '127.0.0.1', port, path, agent, headers }, (response) => {
        if (response.statusCode !== 200) reject(new Error(`${path}: ${response.statusCode}`));
        response.resume().on('end', resolve);
      });
      outgoing.on('error', reject).end();
    });
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (performance.now() < end) {
        const began = performance.now();
        await ask(pathOf(`n${next++ % hosts}`));
        times.push(performance.now() - began);
      }
    }),
  );
  agent.destroy();
  return { rate: times.length / ((performance.now() - startedAt) / 1000), p99: percentile(times, 99) };
}

const few = await appliance(10);
const many = await appliance(10_000);
const preview = (host: string) => `/ignition/${host}`;
const body = await (await fetch(`http://127.0.0.1:${few.port}/ignition/n1`)).text();
const node = await bare(body);

const candidates = {
  node: () => load(node, () => '/'),
  few: () => load(few, preview),
  many: () => load(many, preview),
  anew: () => load(few, (host) => `/ignition/${host}?reveal=yes`),
};
type Name = keyof typeof candidates;
const rates = Object.fromEntries(Object.keys(candidates).map((name) => [name, []])) as unknown as Record<
  Name,
  number[]
>;
const slowest = structuredClone(rates);
// The first look at each host makes its preview: not what is measured.
for (let n = 0; n < 10_000; n += 500) {
  await Promise.all(
    Array.from({ length: 500 }, (_, at) =>
      fetch(`http://127.0.0.1:${many.port}/ignition/n${n + at}`).then((r) => r.text()),
    ),
  );
}
for (let round = 0; round < ROUNDS; round++) {
  for (const name of Object.keys(candidates) as Name[]) {
    const { rate, p99 } = await candidates[name]();
    rates[name].push(rate);
    slowest[name].push(p99);
  }
}
const of = (name: Name) => percentile(rates[name], 50);
const shown = (name: Name) =>
  `${Math.round(of(name))} answers/s, p99 ${percentile(slowest[name], 50).toFixed(0)} ms`;
report([
  [`bare Node, the same ${body.length} bytes`, shown('node')],
  ['kept, 10 hosts', `${shown('few')}; ${ratio(of('few') / of('node'))} of bare Node (must 0.7, aim 0.9)`],
  [
    'made anew each time, 10 hosts',
    `${shown('anew')}; ${ratio(of('anew') / of('few'))} of kept (must 0.3, aim 0.5)`,
  ],
  [
    'kept, 10,000 hosts',
    `${shown('many')}; ${ratio(of('few') / of('many'))} the time of 10 hosts (must 1.2, aim 1.05)`,
  ],
]);
for (const child of children) child.kill('SIGKILL');
