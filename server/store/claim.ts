import pg from 'pg';
import type { Store } from './store.ts';

/** Any number will do, as long as every Railhead uses the same: "RAIL" in ASCII. */
const ADVISORY_LOCK = 0x5241494c;
const RETRY_MS = 1000;

export interface ClaimHooks {
  /** Another process is active; this one waits as standby. Called once. */
  onWait: () => void;
  /** The claim ended without being released: the database went away. */
  onLost: (error: unknown) => void;
}

/**
 * Makes this process the only active one on the store; waits as long as another one is. On SQLite the lock on the
 * data folder has already seen to that. On PostgreSQL it is an advisory lock, which ends with its connection.
 */
export async function claimActive(
  store: Store,
  databaseUrl: string | undefined,
  hooks: ClaimHooks,
): Promise<{ release(): Promise<void> }> {
  if (store.dialect === 'sqlite' || databaseUrl === undefined) return { release: async () => {} };
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'railhead (active)' });
  let released = false;
  client.on('error', (error) => {
    if (!released) hooks.onLost(error);
  });
  await client.connect();
  for (let waited = false; !(await tryLock(client)); waited = true) {
    if (!waited) hooks.onWait();
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
  return {
    release: async () => {
      if (released) return;
      released = true;
      await client.end();
    },
  };
}

async function tryLock(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [
    ADVISORY_LOCK,
  ]);
  return rows[0]?.locked === true;
}
