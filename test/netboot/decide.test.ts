import { describe, expect, it } from 'vitest';
import type { HostSpec } from '../../server/inventory/model.ts';
import { type HostRecord, NO_RECORD } from '../../server/machine/host-record.ts';
import { type DecideInput, type Decision, decide } from '../../server/netboot/decide.ts';
import { hostSpec } from '../support/hosts.ts';

const NOW = 1_000_000_000;
const ram = hostSpec({ install: 'ram' });
const disk = hostSpec({ install: 'disk' });

function ask(host: HostSpec, record: Partial<HostRecord>, more: Partial<DecideInput> = {}): Decision {
  return decide({ host, record: { ...NO_RECORD, ...record }, maxFailures: 3, now: NOW, ...more });
}

describe('every branch', () => {
  it.each<[string, HostSpec, Partial<HostRecord>, Partial<DecideInput>, Partial<Decision>]>([
    ['a new ram host runs', ram, {}, {}, { action: 'run' }],
    ['a new disk host is installed', disk, {}, {}, { action: 'install', why: 'it was never installed' }],
    ['an installed one boots from disk', disk, { installedAt: 1 }, {}, { action: 'local' }],
    [
      'until a new installation is asked for',
      disk,
      { installedAt: 1, reinstallAt: 2 },
      {},
      { action: 'install' },
    ],
    ['a ram host runs, installed or not', ram, { installedAt: 1 }, {}, { action: 'run' }],
    [
      'a hold beats everything',
      ram,
      { hold: { reason: 'smoke', since: 1 } },
      {},
      { action: 'hold', why: 'smoke' },
    ],
    [
      'also an installed disk',
      disk,
      { installedAt: 1, hold: { reason: 'x', since: 1 } },
      {},
      { action: 'hold' },
    ],
    ['two failures are none yet', disk, { failures: 2 }, {}, { action: 'install' }],
    [
      'three are enough',
      disk,
      { failures: 3 },
      {},
      { action: 'hold', why: expect.stringContaining('3 boot attempts') },
    ],
    ['for a ram host that never worked, too', ram, { failures: 3 }, {}, { action: 'hold' }],
    [
      'an installed host is not held for old failures',
      disk,
      { installedAt: 1, failures: 9 },
      {},
      { action: 'local' },
    ],
    [
      'a missing image makes it wait',
      ram,
      {},
      { unservable: 'no image' },
      { action: 'wait', why: 'no image' },
    ],
    [
      'but not one that boots from disk',
      disk,
      { installedAt: 1 },
      { unservable: 'no image' },
      { action: 'local' },
    ],
  ])('%s', (_what, host, record, more, expected) => {
    expect(ask(host, record, more)).toMatchObject(expected);
  });
});

describe('a ram host that was ready once is never held', () => {
  const failed = (failures: number, secondsAgo: number) =>
    ask(ram, { everReady: true, failures, lastAttemptAt: NOW - secondsAgo * 1000 });

  it('it waits longer with each failure, and then tries again', () => {
    expect(failed(3, 0)).toMatchObject({ action: 'wait', seconds: 30 });
    expect(failed(3, 10)).toMatchObject({ action: 'wait', seconds: 20 });
    expect(failed(3, 31)).toMatchObject({ action: 'run' });
    expect(failed(5, 0)).toMatchObject({ action: 'wait', seconds: 120 });
    expect(failed(50, 0)).toMatchObject({ action: 'wait', seconds: 600 });
    expect(failed(50, 601)).toMatchObject({ action: 'run' });
  });
});
