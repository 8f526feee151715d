import type { Firmware } from './hosts.ts';
import type { Outcome } from './machine.ts';

/** One machine, while it runs and after. */
export interface MachineRecord {
  name: string;
  firmware: Firmware;
  phase: string;
  /** From power-on to its end. */
  seconds: number;
  retries: number;
  /** Not before its end. */
  outcome: Outcome | undefined;
}

/** What all of them have sent and fetched. */
export interface Traffic {
  tftp: { requests: number; bytes: number; retransmits: number };
  http: { requests: number; bytes: number };
  /** What was tried again because it had failed. */
  retries: number;
  /** Files that the server lacks, and how often they were asked for. */
  missing: Map<string, number>;
}

export interface Summary {
  hosts: number;
  /** Reported their last stage, or are installed already and boot their disk. */
  reached: { count: number; stages: Record<string, number> };
  failed: { count: number; reasons: { reason: string; count: number; hosts: string[] }[] };
  /** Were still under way when the simulation was stopped. */
  stopped: number;
  seconds: { all: number; p50: number; p95: number; max: number };
  tftp: Traffic['tftp'];
  http: Traffic['http'];
  retries: number;
  missing: { file: string; count: number }[];
}

/** How many hosts of a kind are named; the rest is only counted. */
const NAMED = 5;

/** What came of it all. */
export function summarise(
  machines: readonly Readonly<MachineRecord>[],
  traffic: Readonly<Traffic>,
  seconds: number,
): Summary {
  const stages: Record<string, number> = {};
  const reasons = new Map<string, string[]>();
  const times: number[] = [];
  let stopped = 0;
  for (const { name, outcome, seconds: taken } of machines) {
    switch (outcome?.result) {
      case 'reached':
      case 'local': {
        const end = outcome.result === 'reached' ? outcome.stage : 'boots its disk';
        stages[end] = (stages[end] ?? 0) + 1;
        times.push(taken);
        break;
      }
      case 'failed':
        if (!reasons.has(outcome.reason)) reasons.set(outcome.reason, []);
        reasons.get(outcome.reason)!.push(name);
        break;
      default:
        stopped++;
    }
  }
  times.sort((a, b) => a - b);
  return {
    hosts: machines.length,
    reached: { count: times.length, stages },
    failed: {
      count: machines.length - times.length - stopped,
      reasons: [...reasons]
        .map(([reason, hosts]) => ({ reason, count: hosts.length, hosts: hosts.slice(0, NAMED) }))
        .sort((a, b) => b.count - a.count),
    },
    stopped,
    seconds: {
      all: seconds,
      p50: percentile(times, 0.5),
      p95: percentile(times, 0.95),
      max: times.at(-1) ?? 0,
    },
    tftp: { ...traffic.tftp },
    http: { ...traffic.http },
    retries: traffic.retries,
    missing: [...traffic.missing].map(([file, count]) => ({ file, count })),
  };
}

/** The nearest rank; 0 for none. */
function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}
