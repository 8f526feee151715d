import type { Need, PlannedStep } from './plan.ts';

/** What is seen of a cluster. `unknown`: it can't be asked, which is no news about it. */
export type Observation = { apiReady: boolean; nodesReady: number; schedulable: number } | 'unknown';

/** What is remembered about a step. */
export interface StepRecord {
  state: 'pending' | 'running' | 'retrying' | 'done' | 'failed' | 'skipped';
  /** What the state stands for: a hash of the inputs. */
  inputs: string;
  /** Runs with these inputs that have failed. */
  attempts: number;
  since: number;
  retryAt?: number;
  reason?: string;
  /** A person wants it to run, also when it has nothing new to do. */
  ordered: boolean;
  /** How many nodes were Ready when it last ran. */
  nodes: number;
}

/** A step and the hash of what it would be given now, or why that can't be told. */
export type ReadyStep = Pick<
  PlannedStep,
  'name' | 'need' | 'attempts' | 'retryMs' | 'notNeeded' | 'invalid' | 'perNode'
> & { inputs: string | { missing: string } };

export interface DecideInput {
  steps: readonly ReadyStep[];
  records: ReadonlyMap<string, StepRecord>;
  observation: Observation;
  /** Why it can't be asked. */
  whyUnknown?: string | undefined;
  /** Steps start by themselves. */
  auto: boolean;
  now: number;
}

export type Action =
  /** Start it now. `resumed`: a run of it was cut off, and may have left things half done. */
  | { action: 'run'; step: string; attempt: number; resumed: boolean; why: string }
  /** Nothing can be done now; it is looked at again by `until`, or when something happens. */
  | { action: 'wait'; step: string; why: string; until?: number }
  /** It has failed, and a person has to look. */
  | { action: 'halt'; step: string; why: string }
  /** The inventory wants what can't be: nothing is started at all. */
  | { action: 'refuse'; step: string; why: string }
  /** There is something to do, but only when a person says so. */
  | { action: 'rest'; step: string; why: string }
  | { action: 'done' };

const NO_RECORD: StepRecord = {
  state: 'pending',
  inputs: '',
  attempts: 0,
  since: 0,
  ordered: false,
  nodes: 0,
};

/**
 * What a cluster's pipeline does next. Asked only while none of its steps runs here: a record that says so is of a
 * process that was killed, and that step goes first. One step after another; a later one never overtakes.
 */
export function decide(input: DecideInput): Action {
  const { steps, records, observation } = input;
  const invalid = steps.find((step) => step.invalid !== undefined);
  if (invalid !== undefined) return { action: 'refuse', step: invalid.name, why: invalid.invalid! };
  for (const [index, step] of steps.entries()) {
    const record = records.get(step.name) ?? NO_RECORD;
    if (isSettled(step, record, observation)) continue;
    const laterIsOrdered = steps.slice(index + 1).some(({ name }) => records.get(name)?.ordered === true);
    return next(step, record, input, laterIsOrdered);
  }
  return { action: 'done' };
}

/** Whether nothing is to be done about a step: the next one may have its turn. */
export function isSettled(step: ReadyStep, record: StepRecord, observation: Observation): boolean {
  if (step.notNeeded !== undefined) return true;
  if (record.state === 'running' || record.ordered) return false;
  if (record.state === 'skipped') return true;
  if (record.state !== 'done') return false;
  // A secret that has gone is no change that could be made.
  if (typeof step.inputs === 'string' && step.inputs !== record.inputs) return false;
  return !hasNewNodes(step, record, observation);
}

/** Nodes that came after it ran and take no pods: those that are cordoned on purpose make it run once, not for ever. */
function hasNewNodes(step: ReadyStep, record: StepRecord, observation: Observation): boolean {
  if (!step.perNode || observation === 'unknown') return false;
  return observation.nodesReady > record.nodes && observation.nodesReady > observation.schedulable;
}

function next(step: ReadyStep, record: StepRecord, input: DecideInput, laterIsOrdered: boolean): Action {
  const { observation, auto, now } = input;
  const { name, inputs } = step;
  const isCutOff = record.state === 'running';
  if (typeof inputs !== 'string') return { action: 'wait', step: name, why: inputs.missing };
  const isSame = record.inputs === inputs;
  if (record.state === 'failed' && isSame && !record.ordered) {
    return { action: 'halt', step: name, why: record.reason ?? 'it failed' };
  }
  const isNews = hasNewNodes(step, record, observation);
  const isDue =
    auto || record.ordered || isCutOff || record.state === 'retrying' || (isNews && laterIsOrdered);
  if (!isDue) {
    const why = record.state === 'done' ? 'what it is given has changed' : 'it has not run yet';
    return { action: 'rest', step: name, why };
  }
  if (record.state === 'retrying' && isSame && record.retryAt !== undefined && record.retryAt > now) {
    return { action: 'wait', step: name, why: record.reason ?? 'it failed', until: record.retryAt };
  }
  const lacking = unmetNeed(step.need, observation, input.whyUnknown);
  if (lacking !== undefined) return { action: 'wait', step: name, why: lacking };
  return {
    action: 'run',
    step: name,
    attempt: (isSame ? record.attempts : 0) + 1,
    resumed: isCutOff || record.state === 'retrying' || record.state === 'failed',
    why: whyNow(record, isSame, isNews),
  };
}

function whyNow(record: StepRecord, isSame: boolean, isNews: boolean): string {
  if (record.state === 'running') return 'its run was cut off';
  if (record.ordered) return 'it was ordered';
  if (record.state === 'done' && isNews && isSame) return 'there are more nodes';
  if (record.state === 'done' || (record.state === 'failed' && !isSame))
    return 'what it is given has changed';
  return record.state === 'retrying' ? 'it failed before' : 'it is its turn';
}

/** What a step waits for; `undefined` when it may start. */
export function unmetNeed(need: Need, observation: Observation, whyUnknown?: string): string | undefined {
  if (observation === 'unknown') {
    return `the Kubernetes API can not be asked${whyUnknown === undefined ? '' : `: ${whyUnknown}`}`;
  }
  if (!observation.apiReady) return 'the Kubernetes API is not ready';
  if (need === 'node' && observation.schedulable === 0) {
    return `no node is Ready and takes pods (${observation.nodesReady} Ready)`;
  }
  return undefined;
}

const LONGEST_PAUSE_MS = 600_000;

/** What becomes of a step whose run has failed for the `attempt`th time. */
export function afterFailure(
  step: Pick<ReadyStep, 'attempts' | 'retryMs'>,
  attempt: number,
  now: number,
): { state: 'retrying'; retryAt: number } | { state: 'failed' } {
  if (attempt >= step.attempts) return { state: 'failed' };
  return { state: 'retrying', retryAt: now + Math.min(LONGEST_PAUSE_MS, step.retryMs * 2 ** (attempt - 1)) };
}
