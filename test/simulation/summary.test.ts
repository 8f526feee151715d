import { describe, expect, it } from 'vitest';
import { formatBytes, formatMoment, formatSummary } from '../../server/cli/simulate-report.ts';
import type { Outcome } from '../../server/simulation/machine.ts';
import { stagesFor } from '../../server/simulation/stages.ts';
import { type MachineRecord, summarise, type Traffic } from '../../server/simulation/summary.ts';

const traffic: Traffic = {
  tftp: { requests: 3, bytes: 1500, retransmits: 2 },
  http: { requests: 4, bytes: 20_000_000 },
  retries: 5,
  missing: new Map([['lpxelinux.0', 7]]),
};

const machine = (name: string, phase: string, seconds = 0, outcome?: Outcome): MachineRecord => ({
  name,
  firmware: 'bios',
  phase,
  seconds,
  retries: 0,
  outcome,
});
const reached = (name: string, seconds: number): MachineRecord =>
  machine(name, 'provisioned', seconds, { result: 'reached', stage: 'provisioned' });
const failed = (name: string, reason: string): MachineRecord =>
  machine(name, 'loader', 1, { result: 'failed', reason });

describe('the summary', () => {
  it('counts ends, reasons and times', () => {
    const twenty = Array.from({ length: 20 }, (_, index) => reached(`sim-${index}`, index + 1));
    const machines = [
      ...twenty,
      machine('d', 'menu', 2, { result: 'local' }),
      failed('a', 'no menu'),
      failed('b', 'silent'),
      failed('c', 'silent'),
      machine('s', 'loader', 1, { result: 'stopped' }),
    ];
    const summary = summarise(machines, traffic, 30);
    expect(summary).toMatchObject({
      hosts: 25,
      reached: { count: 21, stages: { provisioned: 20, 'boots its disk': 1 } },
      failed: {
        count: 3,
        reasons: [
          { reason: 'silent', count: 2, hosts: ['b', 'c'] },
          { reason: 'no menu', count: 1, hosts: ['a'] },
        ],
      },
      stopped: 1,
      seconds: { all: 30, p50: 10, p95: 19, max: 20 },
      missing: [{ file: 'lpxelinux.0', count: 7 }],
    });
    const text = formatSummary(summary).join('\n');
    expect(text).toMatch(/reached their last stage +21 \(provisioned 20, boots its disk 1\)/);
    expect(text).toMatch(/stopped under way +1/);
    expect(text).toContain('failed: silent: b, c (2)');
    expect(text).toContain('1.5 kB in 3 files, 2 retransmissions');
    expect(text).toContain('lpxelinux.0 (7 times)');
  });

  it('of nothing is all zeros', () => {
    expect(summarise([], { ...traffic, missing: new Map() }, 0)).toMatchObject({
      hosts: 0,
      seconds: { p50: 0, p95: 0, max: 0 },
    });
  });
});

describe('the line', () => {
  const machines = [
    machine('a', 'kernel-sent'),
    machine('b', 'init'),
    machine('c', 'boot-complete'),
    reached('d', 1),
  ];
  const moment = { machines, traffic, seconds: 3.4, bytesPerSecond: 1e6 };

  it('says how many are where', () => {
    expect(formatMoment({ ...moment, isShort: true })).toBe(
      '   3 s  done 1/4  20.0 MB, 1.0 MB/s  image 1  booting 1  up 1',
    );
    expect(formatMoment({ ...moment, isShort: false })).toContain('kernel-sent 1  init 1  boot-complete 1');
  });
});

it('bytes are written as people do', () => {
  expect([0, 999, 1500, 20_000_000, 123_456_789_000].map(formatBytes)).toEqual([
    '0 B',
    '999 B',
    '1.5 kB',
    '20.0 MB',
    '123 GB',
  ]);
});

it('machines report what suits their mode, in order', () => {
  const names = (stages: { stage: string }[]): string[] => stages.map(({ stage }) => stage);
  const { first, fromDisk } = stagesFor('ram');
  expect(names(first)).toEqual([
    ...['kernel', 'initramfs', 'dracut-hooks', 'switch-root', 'init', 'ignition-done', 'boot-complete'],
    ...['sysext-merged', 'provisioned'],
  ]);
  expect(fromDisk).toEqual([]);
  const disk = stagesFor('disk');
  expect(names(disk.first).at(-1)).toBe('installed');
  expect(names(disk.fromDisk).at(-1)).toBe('provisioned');
  expect(new Set(names([...disk.first, ...disk.fromDisk]))).toEqual(new Set([...names(first), 'installed']));
});
