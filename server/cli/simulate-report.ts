import { factsOf, STAGES, type Stage } from '../machine/stages.ts';
import type { MachineRecord, Summary, Traffic } from '../simulation/summary.ts';
import { formatTable } from './table.ts';

/** Phases of a machine, in order: its own, then what it has reported. */
const PHASES: readonly string[] = ['firmware', 'waiting', 'loader', 'menu', ...Object.keys(STAGES)];

/** The same by what a person at a rack would see: there is not much room on a line. */
function shortPhase(phase: string): string {
  if (phase === 'menu') return 'loader';
  if (phase === 'kernel-sent' || phase === 'initrd-sent') return 'image';
  if (phase === 'pointer-sent' || phase === 'config-sent') return 'ignition';
  if (!isStage(phase)) return phase;
  return factsOf(phase).success ? 'up' : 'booting';
}

function isStage(phase: string): phase is Stage {
  return phase in STAGES;
}

export interface Moment {
  machines: readonly Readonly<MachineRecord>[];
  traffic: Readonly<Traffic>;
  seconds: number;
  /** Since the line before. */
  bytesPerSecond: number;
  /** In few words. */
  isShort: boolean;
}

/** One line on how it is going. */
export function formatMoment({ machines, traffic, seconds, bytesPerSecond, isShort }: Moment): string {
  const nameOf = (phase: string): string => (isShort ? shortPhase(phase) : phase);
  const counts = new Map(PHASES.map((phase) => [nameOf(phase), 0]));
  let done = 0;
  let failed = 0;
  for (const { phase, outcome } of machines) {
    if (outcome?.result === 'reached' || outcome?.result === 'local') done++;
    else if (outcome !== undefined) failed++;
    else {
      const name = nameOf(phase);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  const bytes = traffic.tftp.bytes + traffic.http.bytes;
  return [
    `${seconds.toFixed(0).padStart(4)} s`,
    `done ${done}/${machines.length}`,
    ...(failed > 0 ? [`failed ${failed}`] : []),
    `${formatBytes(bytes)}, ${formatBytes(bytesPerSecond)}/s`,
    ...[...counts].filter(([, count]) => count > 0).map(([name, count]) => `${name} ${count}`),
  ].join('  ');
}

/** What came of it, for people. */
export function formatSummary(summary: Summary): string[] {
  const { hosts, reached, failed, stopped, seconds, tftp, http, retries, missing } = summary;
  const stages = Object.entries(reached.stages).map(([stage, count]) => `${stage} ${count}`);
  const files = missing.map(({ file, count }) => `${file} (${count} times)`);
  const rows = [
    ['hosts', String(hosts)],
    ['reached their last stage', `${reached.count}${stages.length === 0 ? '' : ` (${stages.join(', ')})`}`],
    ['failed', String(failed.count)],
    ...(stopped > 0 ? [['stopped under way', String(stopped)]] : []),
    ['time', `p50 ${time(seconds.p50)}, p95 ${time(seconds.p95)}, all ${time(seconds.all)}`],
    ['by TFTP', `${formatBytes(tftp.bytes)} in ${tftp.requests} files, ${tftp.retransmits} retransmissions`],
    ['by HTTP', `${formatBytes(http.bytes)} in ${http.requests} requests`],
    ['tried again', String(retries)],
    ...(files.length > 0 ? [['not on the server', files.join(', ')]] : []),
  ];
  const reasons = failed.reasons.map(({ reason, count, hosts: names }) => {
    const more = count > names.length ? ' …' : '';
    return `failed: ${reason}: ${names.join(', ')}${more}${count > 1 ? ` (${count})` : ''}`;
  });
  return [formatTable(['simulation', ''], rows), ...reasons];
}

export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? value.toFixed(0) : value.toFixed(1)} ${units[unit]}`;
}

function time(seconds: number): string {
  return `${seconds.toFixed(1)} s`;
}
