import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder, withTempFolder } from '../../scripts/lib/cache.mjs';
import { ROOT } from './appliance.ts';

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
/** The first build downloads modules and compiles for half a minute on idle cores. */
const BUILD_LIMIT_MS = 600_000;

/** Both programs, or undefined after one line that says why not. */
export async function ensureIgnitionFromGo(): Promise<IgnitionFromGo | undefined> {
  const skip = (why: string): undefined => {
    console.warn(`SKIPPED: no Ignition ${VERSION} from Go modules (it judges spec 3.4 and merging): ${why}`);
  };
  if (process.env.RAILHEAD_TEST_PARTS === 'none') return skip('RAILHEAD_TEST_PARTS is none');
  const source = createHash('sha256').update(readFileSync(MERGE_SOURCE)).digest('hex').slice(0, 12);
  const kept = join(cacheFolder(), 'go');
  const folder = join(kept, `ignition-${VERSION}-${source}`);
  const programs = {
    version: VERSION,
    validate: join(folder, 'ignition-validate'),
    merge: join(folder, 'ignition-merge'),
  };
  if (existsSync(folder)) return programs;
  if (spawnSync('go', ['version']).status !== 0) return skip('there is no go (https://go.dev/dl/)');
  mkdirSync(kept, { recursive: true });
  try {
    await withTempFolder(kept, async (temp) => build(temp, folder));
    return programs;
  } catch (error) {
    return skip(error instanceof Error ? error.message : String(error));
  }
}

/** Beside its final place, then renamed: a folder that has its name is complete. */
function build(temp: string, folder: string): void {
  const made = join(temp, 'made');
  mkdirSync(made);
  copyFileSync(MERGE_SOURCE, join(temp, 'main.go'));
  writeFileSync(join(temp, 'go.mod'), `module judge\n\ngo 1.24\n\nrequire ${MODULE} v${VERSION}\n`);
  const go = (...args: string[]): void => {
    const env = { ...process.env, GOFLAGS: '-mod=mod -buildvcs=false', CGO_ENABLED: '0' };
    const { status, stderr, error } = spawnSync('go', args, {
      cwd: temp,
      env,
      encoding: 'utf8',
      timeout: BUILD_LIMIT_MS,
    });
    if (status === 0) return;
    const why = error?.message ?? stderr.trim().split('\n').at(-1);
    throw new Error(`go ${args[0]} failed: ${why}`);
  };
  go('build', '-o', join(made, 'ignition-validate'), `${MODULE}/validate`);
  go('build', '-o', join(made, 'ignition-merge'), '.');
  try {
    renameSync(made, folder);
  } catch (error) {
    // Somebody else built it at the same time: theirs is as good.
    if (!existsSync(folder)) throw error;
  }
}
