import { didYouMean } from '../document/nearest.ts';
import { RailheadError } from '../errors.ts';
import { isSettled, type ReadyStep, type StepRecord } from './decide.ts';

export interface OrderInput {
  cluster: string;
  steps: readonly ReadyStep[];
  records: ReadonlyMap<string, StepRecord>;
  running: string | undefined;
}

export type Order = 'run' | 'retry' | 'skip' | 'anew';

/** Which steps an order is about, or why it can't be obeyed. Pure. */
export function stepsOfOrder(input: OrderInput, order: Order, wanted: string | undefined): string[] {
  const { steps, running } = input;
  const invalid = steps.find((step) => step.invalid !== undefined);
  if (invalid !== undefined) throw refused(`Nothing is started: ${invalid.invalid}.`);
  const chosen = wanted === undefined ? [...steps] : select(input, wanted);
  const busy = chosen.find(({ name }) => name === running);
  if (busy !== undefined && order !== 'skip' && (wanted !== undefined || order === 'anew')) {
    throw refused(`${busy.name} runs already.`);
  }
  switch (order) {
    case 'anew':
      return chosen.filter(isNeeded).map(({ name }) => name);
    case 'run':
      return wanted === undefined ? unsettled(input) : runnable(input, chosen);
    case 'retry':
      return retryable(input, chosen, wanted);
    case 'skip':
      return chosen.filter(isNeeded).map(({ name }) => name);
  }
}

/** `install-core` is all its parts. */
function select({ cluster, steps }: OrderInput, wanted: string): ReadyStep[] {
  const found = steps.filter(({ name }) => name === wanted || name.startsWith(`${wanted}:`));
  if (found.length > 0) return found;
  const names = steps.map(({ name }) => name);
  const guess = didYouMean(wanted, [...new Set(names.flatMap((name) => [name, name.split(':')[0]!]))]);
  throw new RailheadError(
    'RH_NOT_FOUND',
    `The pipeline of ${cluster} has no step "${wanted}"${guess || `; it has ${names.join(', ')}.`}`,
  );
}

function isNeeded(step: ReadyStep): boolean {
  return step.notNeeded === undefined;
}

function unsettled({ steps, records, running }: OrderInput): string[] {
  return steps
    .filter((step) => {
      const record = records.get(step.name);
      return isNeeded(step) && step.name !== running && !(record && isSettled(step, record, 'unknown'));
    })
    .map(({ name }) => name);
}

function runnable({ steps, records }: OrderInput, chosen: readonly ReadyStep[]): string[] {
  const needed = chosen.filter(isNeeded);
  if (needed.length === 0) throw refused(`${chosen[0]?.name} is not needed: ${chosen[0]?.notNeeded}.`);
  const first = steps.findIndex(({ name }) => name === needed[0]?.name);
  for (const before of steps.slice(0, first)) {
    const record = records.get(before.name);
    if (!isNeeded(before) || (record && isSettled(before, record, 'unknown'))) continue;
    throw refused(
      `${before.name} comes first, and is not done.`,
      `Run it, or \`railhead pipeline skip\` it.`,
    );
  }
  return needed.map(({ name }) => name);
}

function retryable(
  { records }: OrderInput,
  chosen: readonly ReadyStep[],
  wanted: string | undefined,
): string[] {
  const states = wanted === undefined ? ['failed', 'retrying'] : ['failed', 'retrying', 'skipped'];
  const found = chosen.filter(({ name }) => states.includes(records.get(name)?.state ?? ''));
  if (found.length > 0) return found.map(({ name }) => name);
  throw refused(
    wanted === undefined ? 'Nothing has failed.' : `${wanted} has not failed.`,
    '`railhead pipeline run` runs a step again.',
  );
}

function refused(message: string, hint?: string): RailheadError {
  return new RailheadError('RH_PIPELINE_REFUSED', message, hint === undefined ? {} : { hint });
}
