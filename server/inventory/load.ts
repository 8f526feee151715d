import { createHash } from 'node:crypto';
import { hasErrors, isError, type Problem, sortProblems } from '../document/problem.ts';
import { collect, type SourceFile } from './collect.ts';
import { compose } from './compose.ts';
import { crossCheck } from './cross-check.ts';
import type { Inventory } from './model.ts';
import { normalise } from './normalise.ts';

export interface Loaded {
  /** Absent when there are errors: an inventory is taken whole or not at all. */
  inventory?: Inventory;
  /** Errors and warnings, in the order of the files. */
  problems: Problem[];
}

/** Files to an inventory: parse, schema, normalise, cross-checks. Pure. */
export function loadInventory(files: readonly SourceFile[]): Loaded {
  const collected = collect(files);
  const normalised = normalise(collected.items);
  const crossed = crossCheck(normalised.items, collected);
  // With items missing, advice about the whole (no control plane yet, few hosts) would mislead.
  const advice = collected.problems.length === 0 ? crossed : crossed.filter(isError);
  const problems = sortProblems([...collected.problems, ...normalised.problems, ...advice]);
  return hasErrors(problems) ? { problems } : { inventory: compose(normalised.items), problems };
}

/** The name of an inventory is the hash of its content: comments, order and spelling don't change it. */
export function revisionOf(inventory: Inventory): string {
  return createHash('sha256').update(canonicalJson(inventory)).digest('hex').slice(0, 16);
}

/** JSON with sorted keys: the same value always gives the same text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, entry: unknown) =>
    typeof entry === 'object' && entry !== null && !Array.isArray(entry)
      ? Object.fromEntries(Object.entries(entry).sort(([a], [b]) => (a < b ? -1 : 1)))
      : entry,
  );
}
