import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder, withTempFolder } from '../../scripts/lib/cache.mjs';

/** The first build downloads modules and compiles for half a minute on idle cores. */
const BUILD_LIMIT_MS = 600_000;

/** Programs from a Go module, built once and kept outside the checkout. */
export interface GoBuild {
  /** Of the folder that the programs are kept in: it says all that they are made of. */
  name: string;
  module: string;
  version: string;
  /** A source of our own, which is the package `.`. */
  main?: string;
  /** Packages by the name of their program. */
  programs: Readonly<Record<string, string>>;
}

/** The folder with the programs, or why there is none. */
export async function ensureFromGo(wanted: GoBuild): Promise<{ folder: string } | { why: string }> {
  const kept = join(cacheFolder(), 'go');
  const folder = join(kept, wanted.name);
  if (existsSync(folder)) return { folder };
  if (spawnSync('go', ['version']).status !== 0)
    return { why: 'it is built with Go: install it (https://go.dev/dl/)' };
  mkdirSync(kept, { recursive: true });
  try {
    await withTempFolder(kept, async (temp) => build(temp, folder, wanted));
    return { folder };
  } catch (error) {
    return { why: error instanceof Error ? error.message : String(error) };
  }
}

/** Beside its final place, then renamed: a folder that has its name is complete. */
function build(temp: string, folder: string, { module, version, main, programs }: GoBuild): void {
  const made = join(temp, 'made');
  mkdirSync(made);
  if (main !== undefined) copyFileSync(main, join(temp, 'main.go'));
  writeFileSync(join(temp, 'go.mod'), `module judge\n\ngo 1.24\n\nrequire ${module} v${version}\n`);
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
  for (const [name, from] of Object.entries(programs)) go('build', '-o', join(made, name), from);
  try {
    renameSync(made, folder);
  } catch (error) {
    // Somebody else built it at the same time: theirs is as good.
    if (!existsSync(folder)) throw error;
  }
}
