import { expect, it } from 'vitest';
import { Liveness } from '../../server/machine/liveness.ts';

function world(hosts = 1) {
  let time = 0;
  const liveness = new Liveness({ clock: () => time, hosts: () => hosts });
  return {
    liveness,
    pass: (seconds: number) => {
      time += seconds * 1000;
    },
  };
}

it.each([
  [1, 10],
  [1_000, 10],
  [1_001, 11],
  [5_000, 50],
])('%i hosts send a heartbeat every %i s: at most 100 a second in all', (hosts, seconds) => {
  expect(world(hosts).liveness.intervalSeconds).toBe(seconds);
});

it('a machine is alive until it misses three heartbeats', () => {
  const { liveness, pass } = world();
  expect(liveness.isAlive(1)).toBe(false);
  liveness.heard(1);
  pass(29);
  expect(liveness.isAlive(1)).toBe(true);
  pass(1);
  expect(liveness.isAlive(1)).toBe(false);
});

it('silence counts from the start of the server: what was said before nobody heard', () => {
  const { liveness, pass } = world();
  pass(20);
  expect(liveness.silentMs(1)).toBe(20_000);
});

it('stores that a machine was seen only now and then', () => {
  const { liveness, pass } = world();
  const stored = Array.from({ length: 7 }, () => {
    pass(10);
    return liveness.heard(1);
  });
  expect(stored).toEqual([true, false, false, true, false, false, true]);
});
