import { noteForRun } from '../../scripts/lib/run-notes.mjs';

/** Says loudly what this run does not test and why. The end of the run lists it again. */
export function skipped(what: string, why: string): undefined {
  console.warn(`SKIPPED: ${what}: ${why}`);
  noteForRun('skip', `${what}: ${why}`);
}

/** Why a run has no programs from elsewhere. */
export const NOTHING_FETCHED = 'this run uses no other programs (RAILHEAD_TEST_PARTS is none)';
