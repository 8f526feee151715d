import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './appliance.ts';
import { ensureFromGo } from './go-build.ts';
import { NOTHING_FETCHED, skipped } from './skipped.ts';

/** Programs from Go modules, built once and kept outside the checkout. */
export interface IgnitionFromGo {
  version: string;
  /** `ignition-validate`, newer than Debian's. */
  validate: string;
  /** Merges pairs of configs: see test/fixtures/ignition/merge-judge. */
  merge: string;
}

/** The newest release; what Flatcar ships is a few older. */
const VERSION = '2.26.0';
const MODULE = 'github.com/coreos/ignition/v2';
const MERGE_SOURCE = join(ROOT, 'test/fixtures/ignition/merge-judge/main.go');
/** Both programs, or undefined after one line that says why not. */
export async function ensureIgnitionFromGo(): Promise<IgnitionFromGo | undefined> {
  const skip = (why: string): undefined =>
    skipped(`configurations against Ignition ${VERSION}, the newest release`, why);
  if (process.env.RAILHEAD_TEST_PARTS === 'none') return skip(NOTHING_FETCHED);
  const source = createHash('sha256').update(readFileSync(MERGE_SOURCE)).digest('hex').slice(0, 12);
  const built = await ensureFromGo({
    name: `ignition-${VERSION}-${source}`,
    module: MODULE,
    version: VERSION,
    main: MERGE_SOURCE,
    programs: { 'ignition-validate': `${MODULE}/validate`, 'ignition-merge': '.' },
  });
  if ('why' in built) return skip(built.why);
  const { folder } = built;
  return {
    version: VERSION,
    validate: join(folder, 'ignition-validate'),
    merge: join(folder, 'ignition-merge'),
  };
}
