import { isRecord } from '../document/shape.ts';
import type { Inventory } from './model.ts';
import { canonicalJson } from './revision.ts';
import type { Kind } from './schema.ts';

export interface FieldChange {
  /** Such as `os.version` or `kernelArguments`. */
  field: string;
  from?: unknown;
  to?: unknown;
}

export interface ItemChange {
  kind: Kind;
  name: string;
  change: 'added' | 'removed' | 'changed';
  /** Which fields differ; empty for an item that was added or removed. */
  fields: FieldChange[];
}

const KINDS = { clusters: 'cluster', profiles: 'profile', pools: 'pool', hosts: 'host' } as const;

/** What becomes different, item by item. Hosts are compared as they work out, so a pool's edit shows at each host. */
export function diffInventories(before: Inventory, after: Inventory): ItemChange[] {
  return Object.entries(KINDS).flatMap(([section, kind]) =>
    diffItems(kind, before[section as keyof Inventory], after[section as keyof Inventory]),
  );
}

export const EMPTY_INVENTORY: Inventory = { clusters: [], profiles: [], pools: [], hosts: [] };

function diffItems(
  kind: Kind,
  before: readonly { name: string }[],
  after: readonly { name: string }[],
): ItemChange[] {
  const old = new Map(before.map((item) => [item.name, item]));
  const changes: ItemChange[] = [];
  for (const item of after) {
    const previous = old.get(item.name);
    old.delete(item.name);
    if (previous === undefined) {
      changes.push({ kind, name: item.name, change: 'added', fields: [] });
      continue;
    }
    const fields = diffFields('', previous, item);
    if (fields.length > 0) changes.push({ kind, name: item.name, change: 'changed', fields });
  }
  for (const name of old.keys()) changes.push({ kind, name, change: 'removed', fields: [] });
  return changes;
}

function diffFields(prefix: string, from: unknown, to: unknown): FieldChange[] {
  if (from === to) return [];
  if (!isRecord(from) || !isRecord(to)) {
    // A stored revision has its keys sorted, files have them in any order: lists of mappings must not differ by that.
    if (canonicalJson(from) === canonicalJson(to)) return [];
    const change: FieldChange = { field: prefix };
    if (from !== undefined) change.from = from;
    if (to !== undefined) change.to = to;
    return [change];
  }
  const keys = new Set([...Object.keys(from), ...Object.keys(to)]);
  return [...keys].flatMap((key) => diffFields(prefix === '' ? key : `${prefix}.${key}`, from[key], to[key]));
}
