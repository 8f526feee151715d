import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Inventory } from './model.ts';

/** An inventory on its way to or from the store. */
export interface Revision {
  hash: string;
  /** gzipped canonical JSON */
  document: Buffer;
}

/** The name of an inventory is the hash of its content: comments, order and spelling don't change it. */
export function makeRevision(inventory: Inventory): Revision {
  const json = canonicalJson(inventory);
  const hash = createHash('sha256').update(json).digest('hex').slice(0, 16);
  return { hash, document: gzipSync(json, { level: 6 }) };
}

export function openRevision(document: Uint8Array): Inventory {
  return JSON.parse(gunzipSync(document).toString('utf8')) as Inventory;
}

/** JSON with sorted keys: the same value always gives the same text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, entry: unknown) =>
    typeof entry === 'object' && entry !== null && !Array.isArray(entry)
      ? Object.fromEntries(Object.entries(entry).sort(([a], [b]) => (a < b ? -1 : 1)))
      : entry,
  );
}
