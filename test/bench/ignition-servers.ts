import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { NODE_FLAGS } from '../../scripts/lib/node-flags.mjs';
import { ensureFromGo } from '../support/go-build.ts';
import {
  answers,
  firstLine,
  freePort,
  LOAD_CORE,
  SERVER_CORE,
  type Server,
  serverOf,
  spawnOn,
} from './http-servers.ts';
import type { AskOrder, AskResult } from './ignition-load.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const MATCHBOX = '0.11.0';
const LOAD_PROGRAM = join(import.meta.dirname, 'ignition-load.ts');

/** Hosts that differ in their names and cards. */
export function macOf(n: number): string {
  const hex = n.toString(16).padStart(6, '0');
  return `52:54:00:${hex.slice(0, 2)}:${hex.slice(2, 4)}:${hex.slice(4)}`;
}

function writeInventory(dir: string, hosts: number, edition: number): void {
  const lines = Array.from({ length: hosts }, (_, n) => `  - {name: n${n}, pool: p, macs: ['${macOf(n)}']}`);
  writeFileSync(
    join(dir, 'inventory', 'bench.yaml'),
    `clusters: [{name: lab, kubernetes: 1.36.4, containerd: 2.1.5}]
profiles: [{name: f, os: flatcar, version: 4593.2.5}]
pools: [{name: p, cluster: lab, profile: f, variables: {edition: ${edition}}}]
hosts:
${lines.join('\n')}
`,
  );
}

/** All hosts are to be made anew from then on. */
export async function editInventory(
  { port }: Server,
  hosts: number,
  edition: number,
  scratch: string,
): Promise<void> {
  const revision = async (): Promise<string> =>
    ((await (await fetch(`http://127.0.0.1:${port}/readyz`)).json()) as { revision: string }).revision;
  const before = await revision();
  writeInventory(folderOf(hosts, scratch), hosts, edition);
  while ((await revision()) === before) await sleep(100);
  // What it keeps of the edit is written behind the answers.
  await sleep(1000);
}

const folderOf = (hosts: number, scratch: string): string => join(scratch, `railhead-${hosts}`);

/** The whole of Railhead, with the templates that come with it. */
export async function startAppliance(hosts: number, scratch: string): Promise<Server> {
  const dir = folderOf(hosts, scratch);
  mkdirSync(join(dir, 'inventory'), { recursive: true });
  writeInventory(dir, hosts, 0);
  const folders = ['--data', join(dir, 'data'), '--inventory', join(dir, 'inventory')];
  const ports = ['--http-port', '0', '--https-port', '0', '--tftp-port', '0', '--bind', '127.0.0.1'];
  const args = [...NODE_FLAGS, join(ROOT, 'server', 'main.ts'), 'up', ...folders, ...ports];
  const env = { RAILHEAD_ASSETS: join(dir, 'assets'), RAILHEAD_LOG_LEVEL: 'error' };
  const child = spawnOn(SERVER_CORE, process.execPath, args, env);
  child.stdout!.resume();
  for (;;) {
    await sleep(200);
    if (child.exitCode !== null) throw new Error('the appliance did not start');
    const port = portIn(join(dir, 'data', 'server.json'));
    if (port !== undefined) return serverOf(`Railhead, ${hosts} hosts`, port, child);
  }
}

function portIn(file: string): number | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).httpPort;
  } catch {
    return undefined;
  }
}

/** Node's own server that has an answer in memory, and nothing else. */
export async function startBare(body: string, scratch: string): Promise<Server> {
  const file = join(scratch, 'body');
  writeFileSync(file, body);
  const code = `const body = require('node:fs').readFileSync(process.argv[1]);
require('node:http').createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
}).listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;
  const child = spawnOn(SERVER_CORE, process.execPath, [...NODE_FLAGS, '-e', code, file]);
  return serverOf('bare Node', Number(await firstLine(child)), child);
}

/** matchbox with a group for each host, all with the same profile, whose config is the quickest kind: as it is. */
export async function startMatchbox(
  hosts: number,
  body: string,
  scratch: string,
): Promise<Server | { why: string }> {
  const module = 'github.com/poseidon/matchbox';
  const built = await ensureFromGo({
    name: `matchbox-${MATCHBOX}`,
    module,
    version: MATCHBOX,
    programs: { matchbox: `${module}/cmd/matchbox` },
  });
  if ('why' in built) return built;
  const data = join(scratch, 'matchbox');
  for (const folder of ['groups', 'profiles', 'ignition', 'assets']) {
    mkdirSync(join(data, folder), { recursive: true });
  }
  for (let n = 0; n < hosts; n++) {
    const group = { id: `n${n}`, name: `n${n}`, profile: 'p', selector: { mac: macOf(n) } };
    writeFileSync(join(data, 'groups', `n${n}.json`), JSON.stringify(group));
  }
  writeFileSync(
    join(data, 'profiles', 'p.json'),
    JSON.stringify({ id: 'p', name: 'p', ignition_id: 'p.ign' }),
  );
  writeFileSync(join(data, 'ignition', 'p.ign'), body);
  const port = await freePort();
  const folders = [`-data-path=${data}`, `-assets-path=${join(data, 'assets')}`];
  const args = [`-address=127.0.0.1:${port}`, ...folders, '-log-level=error'];
  const child = spawnOn(SERVER_CORE, join(built.folder, 'matchbox'), args);
  child.stdout!.resume();
  await answers(port);
  return serverOf(`matchbox ${MATCHBOX}, ${hosts} hosts`, port, child);
}

/** A process that asks, order by order. */
export class Load {
  readonly #child = spawn('taskset', ['-c', LOAD_CORE, process.execPath, LOAD_PROGRAM], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  readonly #results = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();

  async ask(order: AskOrder): Promise<AskResult> {
    this.#child.stdin.write(`${JSON.stringify(order)}\n`);
    const { value, done } = await this.#results.next();
    if (done === true) throw new Error('the load ended; see above');
    return JSON.parse(value);
  }

  stop(): void {
    this.#child.kill('SIGTERM');
  }
}
