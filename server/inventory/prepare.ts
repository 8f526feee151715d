import type { Problem } from '../document/problem.ts';
import { diffInventories, EMPTY_INVENTORY, type ItemChange } from './diff.ts';
import { loadInventoryFolder } from './load.ts';
import type { Inventory } from './model.ts';
import { makeRevision, openRevision, type Revision } from './revision.ts';

export interface LoadRequest {
  dir: string;
  shownAs: string;
  /** The document of the revision in force, to count what changes. */
  previous?: Uint8Array | undefined;
}

export interface HostChanges {
  added: number;
  changed: number;
  removed: number;
}

export type Prepared =
  | { accepted: true; inventory: Inventory; revision: Revision; problems: Problem[]; changes: HostChanges }
  | { accepted: false; problems: Problem[] };

/** Everything about an inventory folder that has to be known before it can be put in force. */
export async function prepare({ dir, shownAs, previous }: LoadRequest): Promise<Prepared> {
  const { inventory, problems } = await loadInventoryFolder(dir, shownAs);
  if (inventory === undefined) return { accepted: false, problems };
  const inForce = previous === undefined ? EMPTY_INVENTORY : openRevision(previous);
  const changes = countHostChanges(diffInventories(inForce, inventory));
  return { accepted: true, inventory, revision: makeRevision(inventory), problems, changes };
}

function countHostChanges(changes: readonly ItemChange[]): HostChanges {
  const count = (change: ItemChange['change']): number =>
    changes.filter((entry) => entry.kind === 'host' && entry.change === change).length;
  return { added: count('added'), changed: count('changed'), removed: count('removed') };
}
