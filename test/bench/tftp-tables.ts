import type { ServerName } from './tftp-servers.ts';

export interface Cell {
  seconds: number;
  megabytesPerSecond: number;
  cpuPerGigabyte: number;
  clientBusy: number;
  failed: number;
  disturbance: number;
}

export interface Row {
  title: string;
  /** Over a simulated link: the seconds of one download count, not megabytes per second of all. */
  isLink: boolean;
  cells: Map<ServerName, Cell>;
}

type Titles = Map<ServerName, string>;
type Memory = Map<ServerName, number>;
const OURS: ServerName[] = ['railhead', 'railheadPlain'];
const REFERENCE: ServerName = 'tftpdHpa';

/** What was measured: the reference in units, the others as multiples of it, larger being faster. */
export function timesTable(titles: Titles, rows: Row[], memory: Memory): string {
  const names = [...titles.keys()];
  const lines = rows.map(({ title, isLink, cells }) => {
    const of = cells.get(REFERENCE);
    const best = fastestPeer(cells);
    return [
      title,
      ...names.map((name) => {
        const cell = cells.get(name);
        if (cell === undefined) return '';
        const failed = cell.failed > 0 ? `, ${cell.failed} failed` : '';
        if (name === REFERENCE || of === undefined) return `${amount(cell, isLink)}${failed}`;
        return `${times(of.seconds / cell.seconds)}${failed}`;
      }),
      ...OURS.map((name) => {
        const cell = cells.get(name);
        return cell === undefined || best === undefined ? '' : times(best.seconds / cell.seconds);
      }),
    ];
  });
  const loaded = rows.filter(({ title }) => title.startsWith('500')).flatMap((row) => cpuLines(names, row));
  const grown = memory.size === 0 ? [] : [memoryLine(names, memory)];
  const head = [
    '',
    ...names.map((name) => titles.get(name)!),
    ...OURS.map((name) => bestTitle(titles, name)),
  ];
  return table([head, ...lines, ...loaded, ...grown]);
}

function bestTitle(titles: Titles, name: ServerName): string {
  return `${titles.get(name)} : best peer`;
}

function amount({ seconds, megabytesPerSecond }: Cell, isLink: boolean): string {
  return isLink ? `${significant(seconds)} s` : `${significant(megabytesPerSecond)} MB/s`;
}

function cpuLines(names: ServerName[], { title, cells }: Row): string[][] {
  const all = names.map((name) => cells.get(name)?.cpuPerGigabyte);
  const best = Math.min(...names.filter(isPeer).map((name) => cells.get(name)?.cpuPerGigabyte ?? Infinity));
  return [
    [
      `CPU s/GB, ${title}`,
      ...all.map((value) => (value === undefined ? '' : significant(value))),
      ...OURS.map((name) => times((cells.get(name)?.cpuPerGigabyte ?? Number.NaN) / best)),
    ],
    [
      `client busy, ${title}`,
      ...names.map((name) => {
        const cell = cells.get(name);
        return cell === undefined ? '' : `${Math.round(cell.clientBusy * 100)} %`;
      }),
      ...OURS.map(() => ''),
    ],
  ];
}

function memoryLine(names: ServerName[], memory: Memory): string[] {
  const values = names.map((name) => memory.get(name));
  return [
    'memory growth, 500 at once',
    ...values.map((value) => (value === undefined ? '' : megabytes(value))),
    ...OURS.map(() => ''),
  ];
}

interface Target {
  what: string;
  must: string;
  aim: string;
  /** What was measured, and whether it is enough; undefined when it could not be. */
  judge: (name: ServerName) => { measured: string; must: boolean; aim: boolean } | undefined;
}

/** The targets, and how far we are. */
export function targetTable(titles: Titles, rows: Row[], memory: Memory): string {
  const cellsOf = (title: string): Map<ServerName, Cell> =>
    rows.find((row) => row.title === title)?.cells ?? new Map();
  const busy = cellsOf('500 at once, window 16');

  const against =
    (cells: Map<ServerName, Cell>, peer: Cell | undefined, must: number, aim: number) =>
    (name: ServerName) => {
      const cell = cells.get(name);
      if (cell === undefined || peer === undefined) return undefined;
      const ratio = peer.seconds / cell.seconds;
      const hasNone = cell.failed === 0;
      const measured = `${times(ratio)}${hasNone ? '' : `, ${cell.failed} failed`}`;
      return { measured, must: ratio >= must && hasNone, aim: ratio >= aim && hasNone };
    };
  const withCpu = (peer: Cell | undefined) => (name: ServerName) => {
    const cell = busy.get(name);
    const judged = against(busy, peer, 0.8, 2.5)(name);
    if (judged === undefined || cell === undefined || peer === undefined) return undefined;
    const cpu = cell.cpuPerGigabyte / peer.cpuPerGigabyte;
    return { ...judged, measured: `${judged.measured} at ${times(cpu)} CPU`, aim: judged.aim && cpu <= 0.5 };
  };
  const bestOf = (cells: Map<ServerName, Cell>): Cell | undefined => fastestPeer(cells);
  const loss1 = cellsOf('1 ms, 1 % lost, window 1');
  const loss16 = cellsOf('1 ms, 1 % lost, window 16');
  const lockstep = cellsOf('1 transfer, window 1');

  const targets: Target[] = [
    {
      what: `window 16, 500 at once : ${titles.get(REFERENCE) ?? 'tftpd-hpa 5.2'}`,
      must: '1.8×, no failure',
      aim: '5×',
      judge: against(busy, busy.get(REFERENCE), 1.8, 5),
    },
    ...(['tftpdHpaNew', 'dnsmasqNew'] as const).map((peer) => ({
      what: `the same : ${titles.get(peer) ?? peer}`,
      must: '0.8×',
      aim: '2.5× at 0.5× CPU',
      judge: withCpu(busy.get(peer)),
    })),
    {
      what: '1 % lost, 1 ms, window 1 : best peer',
      must: '4×',
      aim: '8×',
      judge: against(loss1, bestOf(loss1), 4, 8),
    },
    {
      what: '1 % lost, 1 ms, window 16 : best peer',
      must: '4×',
      aim: '8×',
      judge: against(loss16, bestOf(loss16), 4, 8),
    },
    {
      what: `lockstep, one transfer : ${titles.get(REFERENCE) ?? 'tftpd-hpa 5.2'}`,
      must: '0.65×',
      aim: '0.9×',
      judge: against(lockstep, lockstep.get(REFERENCE), 0.65, 0.9),
    },
    {
      what: 'memory with 500 transfers',
      must: '+ 64 MB',
      aim: '+ 16 MB',
      judge: (name) => {
        const value = memory.get(name);
        return value === undefined
          ? undefined
          : { measured: megabytes(value), must: value <= 64e6, aim: value <= 16e6 };
      },
    },
  ];
  const lines = targets.map(({ what, must, aim, judge }) => [
    what,
    must,
    aim,
    ...OURS.flatMap((name) => {
      const judged = judge(name);
      if (judged === undefined) return ['', ''];
      return [judged.measured, judged.aim ? 'aim' : judged.must ? 'must' : 'MISSED'];
    }),
  ]);
  const head = ['target', 'must', 'aim', ...OURS.flatMap((name) => [titles.get(name) ?? name, 'reached'])];
  return table([head, ...lines]);
}

function isPeer(name: ServerName): boolean {
  return !OURS.includes(name);
}

/** Among those without failures. */
function fastestPeer(cells: Map<ServerName, Cell>): Cell | undefined {
  return [...cells]
    .filter(([name, { failed }]) => isPeer(name) && failed === 0)
    .map(([, cell]) => cell)
    .toSorted((a, b) => a.seconds - b.seconds)[0];
}

function table([head = [], ...lines]: string[][]): string {
  const all = [head, ...lines];
  const widths = head.map((_, column) => Math.max(3, ...all.map((line) => (line[column] ?? '').length)));
  const row = (line: string[]): string =>
    `| ${widths.map((width, column) => (line[column] ?? '').padEnd(width)).join(' | ')} |`;
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
  return [row(head), rule, ...lines.map(row)].join('\n');
}

function times(value: number): string {
  return `${significant(value)}×`;
}

function megabytes(bytes: number): string {
  return `+ ${(bytes / 1e6).toFixed(0)} MB`;
}

function significant(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
