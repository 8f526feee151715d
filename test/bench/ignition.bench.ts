import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Server } from './http-servers.ts';
import { editInventory, Load, macOf, startAppliance, startBare, startMatchbox } from './ignition-servers.ts';
import { percentile, ratio, report } from './measure.ts';

/**
 * The preview of a host's configuration, over HTTP. "Kept" is of a host that was asked for before; "made anew" is after
 * an edit of the inventory, each host once. Servers have one core and the load has the other.
 */
const CONNECTIONS = 50;
/** Short turns and many, next to each other: the machine may be twice as fast in one second as in the next. */
const TURN_SECONDS = 0.5;
const TURNS = 30;
const EDITS = 10;
const FEW = 10;
const MANY = 10_000;
const MATCHBOX_HOSTS = 1000;

const scratch = mkdtempSync(join(tmpdir(), 'railhead-bench-ignition-'));
const servers: Server[] = [];
const load = new Load();
process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143));
process.once('exit', () => {
  load.stop();
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
  { seconds = TURN_SECONDS, path = '/ignition/{}', connections = CONNECTIONS } = {},
): Promise<Measured> {
  const order = { port: server.port, path, hosts, seconds, connections };
  const before = server.cpuSeconds();
  const result = await load.ask(order);
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
const kept = {
  node: () => ask(node, ['']),
  few: () => ask(few, names(0, FEW)),
  many: () => ask(many, all),
};
// Before it counts, so that the code is warm.
await ask(many, all, { seconds: 0 });
for (let turn = 0; turn < 5; turn++) for (const turnOf of Object.values(kept)) await turnOf();

type Turn<K extends string> = Record<K, Measured>;
const turns: Turn<'node' | 'few' | 'many'>[] = [];
for (let turn = 0; turn < TURNS; turn++) {
  turns.push({ node: await kept.node(), few: await kept.few(), many: await kept.many() });
}
const edits: Turn<'anew' | 'many'>[] = [];
for (let edit = 0; edit < EDITS; edit++) {
  await editInventory(many, MANY, edit + 1, scratch);
  edits.push({ anew: await ask(many, all, { seconds: 0 }), many: await kept.many() });
}

const median = <T>(of: readonly T[], value: (one: T) => number): number => percentile(of.map(value), 50);
const inAll = <K extends string>(of: readonly Turn<K>[], name: K): Measured => ({
  rate: median(of, (turn) => turn[name].rate),
  p99: median(of, (turn) => turn[name].p99),
  cpu: median(of, (turn) => turn[name].cpu),
});
const shown = ({ rate, p99, cpu }: Measured): string =>
  `${rate.toFixed(rate < 100 ? 1 : 0)} answers/s, p99 ${p99.toFixed(0)} ms, ${cpu.toFixed(0)} µs CPU`;
/** The median of the ratios of neighbouring turns, and where the middle half of them is. */
const against = <K extends string>(of: readonly Turn<K>[], one: K, other: K, targets: string): string => {
  const ratios = of.map((turn) => turn[one].rate / turn[other].rate);
  const [low, middle, high] = [25, 50, 75].map((percent) => ratio(percentile(ratios, percent)));
  const byCpu = ratio(median(of, (turn) => turn[other].cpu / turn[one].cpu));
  return `${shown(inAll(of, one))}; ${middle} (${low} to ${high}), by CPU ${byCpu} (${targets})`;
};
report([
  [`bare Node, the same ${body.length} bytes`, shown(inAll(turns, 'node'))],
  ['kept, 10 hosts : bare Node', against(turns, 'few', 'node', 'must 0.7, aim 0.9')],
  ['kept, 10,000 hosts : 10 hosts', against(turns, 'many', 'few', 'must 0.83, aim 0.95')],
  ['made anew : kept, 10,000 hosts', against(edits, 'anew', 'many', 'must 0.3, aim 0.5')],
]);
if (!('why' in matchbox)) {
  // It takes a core whole with one connection already; with fifty, each answer would take seconds.
  const macs = Array.from({ length: MATCHBOX_HOSTS }, (_, n) => macOf(n));
  const peer = await ask(matchbox, macs, { path: '/ignition?mac={}', connections: 2, seconds: 10 });
  const versus = ({ rate }: Measured): string => `${ratio(rate / peer.rate)} (must 100, aim 500)`;
  report([
    [matchbox.name, shown(peer)],
    ['kept, 10,000 hosts : matchbox', versus(inAll(turns, 'many'))],
    ['made anew, 10,000 hosts : matchbox', versus(inAll(edits, 'anew'))],
  ]);
}
console.log(`  load of the machine: ${loadavg()[0]!.toFixed(1)}`);
// The servers would keep it alive.
process.exit();
