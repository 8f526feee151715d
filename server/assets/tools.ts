import type { ContentStore } from '../content/store.ts';
import type { EventLog } from '../events/log.ts';
import type { Inventory } from '../inventory/model.ts';
import type { Store } from '../store/store.ts';
import { Acquirer } from './acquire.ts';
import type { Job } from './job.ts';
import type { Mirrors } from './plan.ts';
import type { SigningKey } from './signing-key.ts';
import type { Web } from './web.ts';

/** What the jobs on images work with. */
export interface AssetTools {
  store: Store;
  events: EventLog;
  contents: ContentStore;
  assetsDir: string;
  inventory: () => Inventory;
  mirrors: Mirrors;
  key: SigningKey;
  web: Web;
  /** Downloads at once. */
  parallel: number;
  now: () => number;
  /** Names that others need, besides what the inventory says: of rollouts, for instance. */
  alsoNeeded: () => Promise<readonly string[]>;
  /** How patient downloads are; for tests. */
  patience: { maxFailures?: number; windowMs?: number; bytesPerSecond?: number; pauseMs?: number };
}

/** Gets files into the content store on behalf of a job, which hears of what was refused. */
export function acquirerFor({ contents, assetsDir, key, now, events }: AssetTools, job: Job): Acquirer {
  return new Acquirer({
    contents,
    assetsDir,
    key,
    now,
    signal: job.signal,
    onRefused: async ({ name }, reason, note) => {
      await events.append({ kind: 'assets.refused', data: { name, reason, note } });
    },
  });
}
