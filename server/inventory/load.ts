import { hasErrors, type Problem, sortProblems } from '../document/problem.ts';
import { collect } from './collect.ts';
import { compose } from './compose.ts';
import { crossCheck } from './cross-check.ts';
import type { Inventory } from './model.ts';
import { normalise } from './normalise.ts';
import { type InventoryFolder, readInventoryFolder } from './read.ts';

export interface Loaded {
  /** Absent when there are errors: an inventory is taken whole or not at all. */
  inventory?: Inventory;
  /** Errors and warnings, in the order of the files. */
  problems: Problem[];
}

/** Reads a folder and loads what is in it. */
export async function loadInventoryFolder(dir: string, shownAs: string): Promise<Loaded> {
  return loadInventory(await readInventoryFolder(dir, shownAs));
}

/** Files to an inventory: parse, schema, normalise, cross-checks. Pure. */
export function loadInventory({ files, problems: unreadable }: InventoryFolder): Loaded {
  const collected = collect(files);
  collected.problems.push(...unreadable);
  collected.incomplete ||= unreadable.length > 0;
  const items = normalise(collected.items);
  const problems = sortProblems([...collected.problems, ...crossCheck(items, collected)]);
  return hasErrors(problems) ? { problems } : { inventory: compose(items), problems };
}
