import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { EventLog } from '../events/log.ts';
import { readIfThere, writeSecretFile } from '../secret-file.ts';
import { adminTokenHashes, saveAdminToken } from '../store/admin-tokens.ts';
import type { Store } from '../store/store.ts';
import { adminTokenFile } from './key-files.ts';

/**
 * Sees that there is an admin token: the store has its hash, the keys folder has the token for the local command
 * line. Returns the token when it was made just now, so that it can be shown this once.
 * The file comes first: a crash in between leaves a file whose token the next start takes over.
 */
export async function ensureAdminToken(
  store: Store,
  events: EventLog,
  keysDir: string,
): Promise<string | undefined> {
  if ((await adminTokenHashes(store.db)).length > 0) return undefined;
  const file = adminTokenFile(keysDir);
  const found = (await readIfThere(file))?.trim();
  const token = found === undefined || found === '' ? `rh_${randomBytes(24).toString('base64url')}` : found;
  if (token !== found) await writeSecretFile(file, `${token}\n`);
  await events.transact(async (db) => {
    await saveAdminToken(db, { name: 'admin', hash: hashToken(token), createdAt: Date.now() });
    return [{ kind: 'admin.token-created', data: { name: 'admin' } }];
  });
  return token;
}

/** Tokens have 192 random bits: a plain hash is enough, there is nothing to guess. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** Whether the token is one of those hashed, without telling by its timing how near it was. */
export function matchesAny(token: string, hashes: readonly string[]): boolean {
  const given = Buffer.from(hashToken(token));
  let found = false;
  for (const hash of hashes) {
    const wanted = Buffer.from(hash);
    if (wanted.length === given.length && timingSafeEqual(wanted, given)) found = true;
  }
  return found;
}
