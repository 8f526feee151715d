import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { RailheadError } from '../errors.ts';
import { findRevision } from '../store/revisions.ts';
import type { Db } from '../store/store.ts';
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
  return withNewFields(JSON.parse(gunzipSync(document).toString('utf8')) as Inventory);
}

/** One that is kept, by its hash or the beginning of it. */
export async function loadRevision(db: Db, wanted: string): Promise<{ hash: string; inventory: Inventory }> {
  const found = await findRevision(db, wanted);
  if (found !== undefined) return { hash: found.hash, inventory: openRevision(found.document) };
  throw new RailheadError('RH_REVISION_UNKNOWN', `There is no revision ${wanted}.`, {
    hint: 'GET /api/v1/revisions lists those that are kept.',
  });
}

/** A revision that an older Railhead has stored lacks what has come since; it is in force until the folder is read. */
function withNewFields(inventory: Inventory): Inventory {
  const profiles = inventory.profiles.map((profile) => ({
    ...profile,
    sysexts: profile.sysexts ?? 'sysupdate',
  }));
  const hosts = inventory.hosts.map((host) => ({
    ...host,
    os: { ...host.os, sysexts: host.os.sysexts ?? 'sysupdate' },
    network: host.network ?? {},
    sshKeys: host.sshKeys ?? [],
  }));
  return { ...inventory, profiles, hosts };
}

/** JSON with sorted keys: the same value always gives the same text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, entry: unknown) =>
    typeof entry === 'object' && entry !== null && !Array.isArray(entry)
      ? Object.fromEntries(Object.entries(entry).sort(([a], [b]) => (a < b ? -1 : 1)))
      : entry,
  );
}
