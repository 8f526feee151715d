import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Server } from './http-servers.ts';
import {
  editInventory,
  macOf,
  runAsking,
  startAppliance,
  startBare,
  startMatchbox,
} from './ignition-servers.ts';
import { percentile, ratio, report } from './measure.ts';

/**
 * The preview of a host's configuration, over HTTP. "Kept" is of a host that was asked for before; "made anew" is after
 * an edit of the inventory, each host once. Servers have one core and the load has the other.
 */
const CONNECTIONS = 50;
const SECONDS = 3;
const ROUNDS = 3;
const FEW = 10;
const MANY = 10_000;
const MATCHBOX_HOSTS = 1000;

const scratch = mkdtempSync(join(tmpdir(), 'railhead-bench-ignition-'));
const servers: Server[] = [];
process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143));
process.once('exit', () => {
  for (const server of servers) server.stop();
  rmSync(scratch, { recursive: true, force: true });
});

interface Measured {
  rate: number;
  p99: number;
  /** Of the server, microseconds for an answer. */
  cpu: number;
}

const names = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, n) => `n${from + n}`);

async function ask(
  server: Server,
  hosts: string[],
  { seconds = SECONDS, path = '/ignition/{}', connections = CONNECTIONS } = {},
): Promise<Measured> {
  const before = server.cpuSeconds();
  const result = await runAsking({ port: server.port, path, hosts, seconds, connections });
  const cpu = ((server.cpuSeconds() - before) / result.answers) * 1e6;
  return { rate: result.answers / result.seconds, p99: result.p99, cpu };
}

const few = await startAppliance(FEW, scratch);
servers.push(few);
const many = await startAppliance(MANY, scratch);
servers.push(many);
const body = await (await fetch(`http://127.0.0.1:${few.port}/ignition/n1`)).text();
const node = await startBare(body, scratch);
servers.push(node);
const matchbox = await startMatchbox(MATCHBOX_HOSTS, body, scratch);
if ('why' in matchbox) console.log(`SKIPPED: everything against matchbox: ${matchbox.why}`);
else servers.push(matchbox);

const all = names(0, MANY);
const candidates = {
  node: () => ask(node, ['']),
  few: () => ask(few, names(0, FEW)),
  anew: async (round: number) => {
    await editInventory(many, MANY, round + 1, scratch);
    return ask(many, all, { seconds: 0 });
  },
  many: () => ask(many, all),
};
type Name = keyof typeof candidates;
const runs = new Map<Name, Measured[]>();
// Before it counts, so that the code is warm.
await ask(many, all, { seconds: 0 });
for (const name of ['node', 'few'] as const) await candidates[name]();
for (let round = 0; round < ROUNDS; round++) {
  for (const name of Object.keys(candidates) as Name[]) {
    runs.set(name, [...(runs.get(name) ?? []), await candidates[name](round)]);
  }
}
const of = (name: Name): Measured => {
  const median = (field: keyof Measured) =>
    percentile(
      runs.get(name)!.map((run) => run[field]),
      50,
    );
  return { rate: median('rate'), p99: median('p99'), cpu: median('cpu') };
};
const shown = ({ rate, p99, cpu }: Measured): string =>
  `${rate.toFixed(rate < 100 ? 1 : 0)} answers/s, p99 ${p99.toFixed(0)} ms, ${cpu.toFixed(0)} µs CPU`;
/** By what was answered, and by what an answer took of the processor: that is steadier when others are busy, too. */
const against = (one: Measured, other: Measured, targets: string): string =>
  `${shown(one)}; ${ratio(one.rate / other.rate)}, by CPU ${ratio(other.cpu / one.cpu)} (${targets})`;
report([
  [`bare Node, the same ${body.length} bytes`, shown(of('node'))],
  ['kept, 10 hosts : bare Node', against(of('few'), of('node'), 'must 0.7, aim 0.9')],
  ['kept, 10,000 hosts : 10 hosts', against(of('many'), of('few'), 'must 0.83, aim 0.95')],
  ['made anew : kept, 10,000 hosts', against(of('anew'), of('many'), 'must 0.3, aim 0.5')],
]);
if (!('why' in matchbox)) {
  // It takes a core whole with one connection already; with fifty, each answer would take seconds.
  const macs = Array.from({ length: MATCHBOX_HOSTS }, (_, n) => macOf(n));
  const peer = await ask(matchbox, macs, { path: '/ignition?mac={}', connections: 2, seconds: 4 * SECONDS });
  report([
    [matchbox.name, shown(peer)],
    ['kept, 10,000 hosts : matchbox', against(of('many'), peer, 'must 100, aim 500')],
    ['made anew, 10,000 hosts : matchbox', against(of('anew'), peer, 'must 100, aim 500')],
  ]);
}
console.log(`  load of the machine: ${loadavg()[0]!.toFixed(1)}`);
// The servers would keep it alive.
process.exit();
