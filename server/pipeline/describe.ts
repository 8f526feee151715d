import type { RunRow } from '../store/pipeline.ts';
import type { Look } from './conductor.ts';
import { type Action, decide, isSettled, type Observation, type ReadyStep } from './decide.ts';
import type { KeptRecord } from './records.ts';

/** How a step stands, for people and programs. Times are as in every answer: ISO, or null. */
export interface StepStatus {
  name: string;
  cluster: string;
  /** pending, waiting, running, retrying, done, changed, failed, skipped, not needed, invalid */
  state: string;
  /** What it waits for, why it failed, why it is not needed. */
  reason: string | null;
  since: string | null;
  attempts: number;
  retryAt: string | null;
  /** Its newest run. */
  startedAt: string | null;
  endedAt: string | null;
  ordered: boolean;
}

export interface PipelineStatus {
  name: string;
  /** running, waiting, failed, refused, resting, done */
  state: string;
  /** In a sentence. */
  summary: string;
  auto: boolean;
  observation: Observation;
  hosts: { members: number; ready: number | null; missing: number | null };
  steps: StepStatus[];
}

export interface DescribeInput {
  cluster: string;
  auto: boolean;
  members: number;
  steps: readonly ReadyStep[];
  records: ReadonlyMap<string, KeptRecord>;
  runs: readonly RunRow[];
  look: Look | undefined;
  running: string | undefined;
  now: number;
}

/** Pure. */
export function describePipeline(given: DescribeInput): PipelineStatus {
  const input = { ...given, look: refreshed(given) };
  const { cluster, auto, members, look, running } = input;
  const observation = look?.observation ?? 'unknown';
  const ready = observation === 'unknown' ? null : observation.nodesReady;
  const { state, summary } = overall(input);
  return {
    name: cluster,
    state: running === undefined ? state : 'running',
    summary: running === undefined ? summary : `${running} runs`,
    auto,
    observation,
    hosts: { members, ready, missing: ready === null ? null : Math.max(0, members - ready) },
    steps: input.steps.map((step) => describeStep(step, input)),
  };
}

/**
 * The last look, with what follows from it now: records and inventory may have changed since, and who has just given an
 * order must not read how it was before.
 */
function refreshed({ look, steps, records, auto, now }: DescribeInput): Look | undefined {
  if (look === undefined) return undefined;
  const { observation, whyUnknown } = look;
  const action = decide({ steps, records, observation, whyUnknown, auto, now });
  if (same(action, look.action)) return look;
  // It was about to run, and something that only the run could see has kept it from it.
  const isHeldUp =
    action.action === 'run' && look.action.action === 'wait' && look.action.step === action.step;
  return isHeldUp ? look : { ...look, action, since: now };
}

function same(a: Action, b: Action): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function overall({ look, steps, records }: DescribeInput): { state: string; summary: string } {
  const action = look?.action;
  switch (action?.action) {
    case undefined:
      return { state: 'waiting', summary: 'it has not been looked at yet' };
    case 'done':
      return { state: 'done', summary: `all ${steps.length} steps are settled` };
    case 'wait': {
      const before = records.get(action.step)?.state === 'retrying' ? ' failed before, and' : '';
      const since = `since ${new Date(look!.since).toISOString()}`;
      return { state: 'waiting', summary: `${action.step}${before} waits: ${action.why} (${since})` };
    }
    case 'halt':
      return { state: 'failed', summary: `${action.step} failed: ${action.why}` };
    case 'refuse':
      return { state: 'refused', summary: `nothing is started: ${action.why}` };
    case 'rest':
      return { state: 'resting', summary: `${action.step} waits for an order: ${action.why}` };
    case 'run':
      return { state: 'running', summary: `${action.step} is about to run` };
  }
}

function describeStep(step: ReadyStep, input: DescribeInput): StepStatus {
  const record = input.records.get(step.name);
  const run = input.runs.findLast((one) => one.step === step.name);
  const { state, reason } = stateOf(step, record, input);
  return {
    name: step.name,
    cluster: input.cluster,
    state,
    reason: reason ?? null,
    since: iso(record?.since),
    attempts: record?.attempts ?? 0,
    retryAt: iso(record?.retryAt),
    startedAt: iso(run?.started_at),
    endedAt: iso(run?.ended_at),
    ordered: record?.ordered ?? false,
  };
}

function stateOf(
  step: ReadyStep,
  record: KeptRecord | undefined,
  { look, running }: DescribeInput,
): { state: string; reason?: string | undefined } {
  if (step.invalid !== undefined) return { state: 'invalid', reason: step.invalid };
  if (running === step.name) return { state: 'running' };
  if (step.notNeeded !== undefined) return { state: 'not needed', reason: step.notNeeded };
  const action = look?.action;
  if (record?.state === 'retrying') return { state: 'retrying', reason: record.reason };
  if (record !== undefined && isSettled(step, record, 'unknown')) {
    return { state: record.state, reason: record.reason };
  }
  if (record?.state === 'failed' && !record.ordered && record.inputs === step.inputs) {
    return { state: 'failed', reason: record.reason };
  }
  if (action?.action === 'wait' && action.step === step.name) return { state: 'waiting', reason: action.why };
  return record?.state === 'done' && !record.ordered
    ? { state: 'changed', reason: 'what it is given has changed since it ran' }
    : { state: 'pending' };
}

function iso(time: number | null | undefined): string | null {
  return time === null || time === undefined || time === 0 ? null : new Date(time).toISOString();
}
