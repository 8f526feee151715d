/**
 * `npm run test:matrix [-- NAME …]`: every TFTP client with every size over every link, in a table. What would take too
 * long is left out, and it says what and why. `npm test` runs a part of it, with the same code.
 *
 *   NAME …        only clients whose name has one of these in it
 *   --minutes N   leave out what would take longer (5)
 *   --seed N      what is lost (1)
 */
import { parseArgs } from 'node:util';
import { cannotGet, tftpClients, type Way, waysOf } from '../../support/tftp-clients.ts';
import { getThrough, type Link } from '../../support/tftp-links.ts';
import { TftpServerProcess } from '../../support/tftp-server.ts';

interface Cell {
  way: Way;
  size: number;
  link: Link;
  /** Each its own: other packets are lost every time. */
  seed: number;
  /** Seconds that it should take. */
  estimate: number;
  text: string;
  fault?: string;
}

const MB = 1024 * 1024;
const SIZES = [0, 1, 511, 512, 513, MB, 64 * MB];
const LINKS: Link[] = [0, 0.01, 0.1].flatMap((loss) => [0, 10, 50].map((delayMs) => ({ loss, delayMs })));
/** Those that wait for most of their time get on together; those that keep the processor busy don't. */
const WAITING_AT_ONCE = 16;
const BUSY_AT_ONCE = 2;

const { values, positionals } = parseArgs({
  options: { minutes: { type: 'string', default: '5' }, seed: { type: 'string', default: '1' } },
  allowPositionals: true,
});
const longest = Number(values.minutes) * 60;
const ways = waysOf(await tftpClients()).filter(
  ({ name }) => positionals.length === 0 || positionals.some((wanted) => name.includes(wanted)),
);
const server = await TftpServerProcess.start();
const contents = new Map<number, Buffer>();
for (const size of SIZES) contents.set(size, await server.addFile(`${size}`, size));

const cells: Cell[] = ways.flatMap((way) =>
  SIZES.flatMap((size) =>
    LINKS.map((link) => ({ way, size, link, seed: 0, estimate: estimate(way, size, link), text: '' })),
  ),
);
for (const [index, cell] of cells.entries()) cell.seed = Number(values.seed) * 1000 + index;
const started = performance.now();
const wanted = cells.filter((cell) => !isLeftOut(cell)).toSorted((a, b) => b.estimate - a.estimate);
console.log(`${wanted.length} downloads, ${cells.length - wanted.length} left out\n`);
await runAll(
  wanted.filter(({ link }) => link.delayMs === 0),
  BUSY_AT_ONCE,
);
await runAll(
  wanted.filter(({ link }) => link.delayMs > 0),
  WAITING_AT_ONCE,
);
report();
await server.stop();

function isLeftOut(cell: Cell): boolean {
  const { way, size, estimate: seconds } = cell;
  const fault = cannotGet(way, size);
  if (fault === undefined && seconds <= longest) return false;
  cell.text = fault === undefined ? '–' : 'n/a';
  return true;
}

async function runAll(all: Cell[], atOnce: number): Promise<void> {
  const queue = [...all];
  const work = async (): Promise<void> => {
    for (let cell = queue.shift(); cell !== undefined; cell = queue.shift()) await run(cell);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

async function run(cell: Cell): Promise<void> {
  const { way, size, link, estimate: expected, seed } = cell;
  const file = { name: `${size}`, content: contents.get(size)! };
  const deadlineMs = Math.ceil(60 + expected * 4) * 1000;
  const { result, seconds, retried } = await getThrough(server, way, file, link, { deadlineMs, seed });
  cell.text = `${seconds.toFixed(seconds < 10 ? 1 : 0)}${retried === undefined ? '' : '*'}`;
  if (result !== 'identical') {
    cell.text = 'FAIL';
    cell.fault = result;
  }
  const what = `${way.name}, ${sizeName(size)}, ${linkName(link)}`;
  if (seconds > 20 || result !== 'identical') console.log(`  ${what}: ${cell.text}`);
}

/** Round trips, the waiting for what is lost, and for one client the waiting for its own timer. */
function estimate({ client, options, isLockstep }: Way, size: number, { loss, delayMs }: Link): number {
  const blocks = Math.floor(size / (options.blksize ?? 512)) + 1;
  const atOnce = isLockstep
    ? 1
    : Math.min(options.windowsize!, loss === 0 ? Number.POSITIVE_INFINITY : 0.7 / loss);
  const rounds = Math.ceil(blocks / atOnce);
  const roundTrip = 2 * delayMs + 0.2;
  const timeOut = Math.max(60, 2 * roundTrip);
  // atftp repeats an acknowledgement once; when that is lost, too, it waits for five seconds of silence.
  const deafness = client.name === 'atftp' ? loss * loss * 11_000 : 0;
  return (rounds * (roundTrip + 2 * loss * timeOut + deafness)) / 1000;
}

function report(): void {
  const width = Math.max(...ways.map(({ name }) => name.length)) + 8;
  console.log(`\nSeconds, by loss and delay (in each direction):\n`);
  console.log(`${' '.repeat(width)}${LINKS.map((link) => linkName(link).padStart(11)).join('')}`);
  for (const way of ways) {
    for (const size of SIZES) {
      const row = cells.filter((cell) => cell.way === way && cell.size === size);
      const label = `${way.name}, ${sizeName(size)}`.padEnd(width);
      console.log(`${label}${row.map(({ text }) => text.padStart(11)).join('')}`);
    }
  }
  const failed = cells.filter(({ fault }) => fault !== undefined);
  console.log(
    '\n* tried again: atftp gives up when it gets an OACK twice, which it does when its answer is lost',
  );
  console.log('n/a: curl takes "tsize 0", the size of an empty file, for an error');
  console.log(
    `–: would take more than ${values.minutes} minutes (--minutes N), since every window waits for its`,
  );
  console.log('   acknowledgement, and every loss for a timer:');
  for (const way of ways) {
    const left = cells.filter((cell) => cell.way === way && cell.text === '–');
    const what = left.map(({ size, link, estimate: seconds }) => {
      const time = seconds > 5400 ? `${(seconds / 3600).toFixed(0)} h` : `${(seconds / 60).toFixed(0)} min`;
      return `${sizeName(size)} ${linkName(link)} ${time}`;
    });
    if (what.length > 0) console.log(`   ${way.name}: ${what.join(', ')}`);
  }
  const minutes = ((performance.now() - started) / 60_000).toFixed(1);
  console.log(`\n${wanted.length - failed.length} identical, ${failed.length} failed, in ${minutes} minutes`);
  for (const { way, size, link, fault } of failed) {
    console.log(`FAILED ${way.name}, ${sizeName(size)}, ${linkName(link)}: ${fault}`);
  }
  if (server.stderr !== '') console.log(`The server said: ${server.stderr}`);
  process.exitCode = failed.length > 0 || server.stderr !== '' ? 1 : 0;
}

function sizeName(size: number): string {
  return size >= MB ? `${size / MB} MB` : `${size} B`;
}

function linkName({ loss, delayMs }: Link): string {
  return `${loss * 100}% ${delayMs}ms`;
}
