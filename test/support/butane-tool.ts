import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder, withTempFolder } from '../../scripts/lib/cache.mjs';
import { NOTHING_FETCHED, skipped } from './skipped.ts';

/** The real thing, built once from Go modules and kept outside the checkout. */
export interface ButaneTool {
  version: string;
  program: string;
}

/** The last release that is a program of its own: after it, butane is a part of Ignition. */
const VERSION = '0.29.0';
const MODULE = 'github.com/coreos/butane';
/** The first build downloads modules and compiles for half a minute on idle cores. */
const BUILD_LIMIT_MS = 600_000;

/** It, or undefined after one line that says why not. */
export async function ensureButane(): Promise<ButaneTool | undefined> {
  const skip = (why: string): undefined => skipped(`templates against butane ${VERSION}`, why);
  if (process.env.RAILHEAD_TEST_PARTS === 'none') return skip(NOTHING_FETCHED);
  const kept = join(cacheFolder(), 'go');
  const folder = join(kept, `butane-${VERSION}`);
  const tool = { version: VERSION, program: join(folder, 'butane') };
  if (existsSync(folder)) return tool;
  if (spawnSync('go', ['version']).status !== 0)
    return skip('it is built with Go: install it (https://go.dev/dl/)');
  mkdirSync(kept, { recursive: true });
  try {
    await withTempFolder(kept, async (temp) => build(temp, folder));
    return tool;
  } catch (error) {
    return skip(error instanceof Error ? error.message : String(error));
  }
}

/** Beside its final place, then renamed: a folder that has its name is complete. */
function build(temp: string, folder: string): void {
  const made = join(temp, 'made');
  mkdirSync(made);
  // A module of ours that requires it: `go install …@version` would ask the proxy for all versions, which not all give.
  writeFileSync(join(temp, 'go.mod'), `module judge\n\ngo 1.24\n\nrequire ${MODULE} v${VERSION}\n`);
  const env = { ...process.env, GOFLAGS: '-mod=mod -buildvcs=false', CGO_ENABLED: '0' };
  const args = ['build', '-trimpath', '-o', join(made, 'butane'), `${MODULE}/internal`];
  const options = { cwd: temp, env, encoding: 'utf8', timeout: BUILD_LIMIT_MS } as const;
  const { status, stderr, error } = spawnSync('go', args, options);
  if (status !== 0) {
    throw new Error(`go build failed: ${error?.message ?? stderr.trim().split('\n').at(-1)}`);
  }
  try {
    renameSync(made, folder);
  } catch (failed) {
    // Somebody else built it at the same time: theirs is as good.
    if (!existsSync(folder)) throw failed;
  }
}
