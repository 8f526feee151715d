import { describe, expect, it } from 'vitest';
import {
  afterFailure,
  type DecideInput,
  decide,
  type Observation,
  type ReadyStep,
  type StepRecord,
} from '../../server/pipeline/decide.ts';

const NOW = 1_000_000;
const UP: Observation = { apiReady: true, nodesReady: 1, schedulable: 1 };
const NO_NODE: Observation = { apiReady: true, nodesReady: 0, schedulable: 0 };
const TAINTED: Observation = { apiReady: true, nodesReady: 1, schedulable: 0 };
const DOWN: Observation = { apiReady: false, nodesReady: 0, schedulable: 0 };

const step = (name: string, given: Partial<ReadyStep> = {}): ReadyStep => ({
  name,
  need: 'node',
  attempts: 3,
  retryMs: 1000,
  perNode: false,
  inputs: 'v1',
  ...given,
});
const record = (state: StepRecord['state'], given: Partial<StepRecord> = {}): StepRecord => ({
  state,
  inputs: 'v1',
  attempts: 0,
  since: 0,
  ordered: false,
  nodes: 0,
  ...given,
});
const A = step('a', { need: 'api' });
const B = step('b');
const DONE = record('done');

interface Given {
  steps?: ReadyStep[];
  records?: Record<string, StepRecord>;
  observation?: Observation;
  auto?: boolean;
}

function decided({ steps = [A, B], records = {}, observation = UP, auto = true }: Given) {
  const input: DecideInput = {
    steps,
    records: new Map(Object.entries(records)),
    observation,
    auto,
    now: NOW,
  };
  return decide(input);
}

describe('what is next', () => {
  it.each<[what: string, given: Given, expected: object]>([
    ['the first step, as soon as the API is ready', { observation: NO_NODE }, { action: 'run', step: 'a' }],
    ['nothing without the API', { observation: DOWN }, { action: 'wait', step: 'a', why: /not ready/ }],
    ['nothing when nobody knows', { observation: 'unknown' }, { action: 'wait', why: /can not be asked/ }],
    [
      'the second, when a node takes pods',
      { records: { a: DONE } },
      { action: 'run', step: 'b', attempt: 1 },
    ],
    [
      'a wait for a node that takes pods',
      { records: { a: DONE }, observation: TAINTED },
      { action: 'wait', step: 'b', why: /no node is Ready and takes pods \(1 Ready\)/ },
    ],
    ['nothing more', { records: { a: DONE, b: DONE } }, { action: 'done' }],
    [
      'nothing more, also without the API',
      { records: { a: DONE, b: DONE }, observation: DOWN },
      { action: 'done' },
    ],
    [
      'the one whose inputs have changed, before those after it',
      { records: { a: record('done', { inputs: 'v0' }), b: DONE } },
      { action: 'run', step: 'a', attempt: 1, resumed: false, why: /has changed/ },
    ],
    ['nothing about one that is not needed', { steps: [step('a', { notNeeded: 'x' })] }, { action: 'done' }],
    [
      'nothing about one that was skipped, whatever changes',
      { records: { a: record('skipped', { inputs: 'v0' }), b: DONE } },
      { action: 'done' },
    ],
    [
      'the one that was cut off, with the attempt that it was in',
      { records: { a: DONE, b: record('running', { attempts: 1 }) } },
      { action: 'run', step: 'b', attempt: 2, resumed: true },
    ],
    [
      'the one that was cut off, also when nothing starts by itself',
      { records: { a: record('running') }, auto: false },
      { action: 'run', step: 'a', resumed: true },
    ],
    [
      'a pause after a failure',
      { records: { a: record('retrying', { attempts: 1, retryAt: NOW + 500, reason: 'exit 1' }) } },
      { action: 'wait', step: 'a', why: 'exit 1', until: NOW + 500 },
    ],
    [
      'the next attempt after the pause',
      { records: { a: record('retrying', { attempts: 1, retryAt: NOW }) } },
      { action: 'run', step: 'a', attempt: 2, resumed: true },
    ],
    [
      'the first attempt at once, when what it is given has changed meanwhile',
      { records: { a: record('retrying', { attempts: 2, retryAt: NOW + 500, inputs: 'v0' }) } },
      { action: 'run', step: 'a', attempt: 1 },
    ],
    [
      'a halt after the last failure',
      { records: { a: record('failed', { attempts: 3, reason: 'exit 1' }) } },
      { action: 'halt', step: 'a', why: 'exit 1' },
    ],
    [
      'a new beginning when the inputs of what failed have changed',
      { records: { a: record('failed', { attempts: 3, inputs: 'v0' }) } },
      { action: 'run', step: 'a', attempt: 1 },
    ],
    [
      'a new beginning of what failed, by order',
      { records: { a: record('failed', { ordered: true }) } },
      { action: 'run', step: 'a', attempt: 1, resumed: true, why: 'it was ordered' },
    ],
    ['rest, when nothing starts by itself', { auto: false }, { action: 'rest', step: 'a' }],
    [
      'rest about a change, when nothing starts by itself',
      { records: { a: record('done', { inputs: 'v0' }) }, auto: false },
      { action: 'rest', step: 'a', why: /has changed/ },
    ],
    [
      'what was ordered, when nothing starts by itself',
      { records: { a: record('pending', { ordered: true, inputs: '' }) }, auto: false },
      { action: 'run', step: 'a' },
    ],
    [
      'what was ordered although it is done',
      { records: { a: record('done', { ordered: true }), b: DONE } },
      { action: 'run', step: 'a' },
    ],
    [
      'nothing at all when one of the steps is wrong',
      { steps: [A, step('z', { invalid: 'no such step' })] },
      { action: 'refuse', step: 'z', why: 'no such step' },
    ],
    [
      'a wait for a secret',
      { steps: [step('a', { inputs: { missing: 'no variable X' } })] },
      { action: 'wait', step: 'a', why: 'no variable X' },
    ],
    [
      'nothing about a secret that is gone after the step was done',
      { steps: [step('a', { inputs: { missing: 'no variable X' } })], records: { a: DONE } },
      { action: 'done' },
    ],
  ])('is %s', (_what, given, expected) => {
    const action = decided(given);
    for (const [key, value] of Object.entries(expected)) {
      const actual = (action as unknown as Record<string, unknown>)[key];
      if (value instanceof RegExp) expect(actual).toMatch(value);
      else expect(actual, key).toEqual(value);
    }
  });
});

describe('a step that goes over all nodes', () => {
  const steps = [step('untaint', { need: 'api', perNode: true }), B];
  const afterRun = (nodes: number) => ({ untaint: record('done', { nodes }), b: DONE });

  it('runs again when a node has come that takes no pods', () => {
    const observation = { apiReady: true, nodesReady: 2, schedulable: 1 };
    expect(decided({ steps, records: afterRun(1), observation })).toMatchObject({
      action: 'run',
      step: 'untaint',
      why: 'there are more nodes',
    });
  });

  it.each([
    ['all nodes take pods', { apiReady: true, nodesReady: 3, schedulable: 3 }, 1],
    [
      'it has seen them, and they are cordoned by somebody',
      { apiReady: true, nodesReady: 2, schedulable: 1 },
      2,
    ],
  ])('does not when %s', (_what, observation, nodes) => {
    expect(decided({ steps, records: afterRun(nodes), observation })).toEqual({ action: 'done' });
  });

  it('does so by hand only when something after it was ordered', () => {
    const given = { steps, observation: TAINTED, auto: false };
    expect(decided({ ...given, records: afterRun(0) })).toMatchObject({ action: 'rest', step: 'untaint' });
    const records = { ...afterRun(0), b: record('pending', { ordered: true, inputs: '' }) };
    expect(decided({ ...given, records })).toMatchObject({ action: 'run', step: 'untaint' });
  });
});

it('waits longer after each failure, and not for ever', () => {
  const pauses = [1, 2, 3, 4].map((attempt) => afterFailure({ attempts: 50, retryMs: 1000 }, attempt, 0));
  expect(pauses.map((one) => ('retryAt' in one ? one.retryAt : undefined))).toEqual([1000, 2000, 4000, 8000]);
  expect(afterFailure({ attempts: 50, retryMs: 1000 }, 40, 0)).toEqual({
    state: 'retrying',
    retryAt: 600_000,
  });
  expect(afterFailure({ attempts: 3, retryMs: 1000 }, 3, 0)).toEqual({ state: 'failed' });
});
