import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureParts } from '../../../scripts/lib/parts.mjs';
import { NOTHING_FETCHED, skipped } from '../../support/skipped.ts';

/** A real `ignition-validate`. */
export interface Judge {
  name: string;
  version: string;
  program: string;
  env: Record<string, string>;
}

export interface Verdict {
  good: boolean;
  /** Paths of what it refuses: `$.storage.files.0.path`. */
  errorPaths: string[];
}

/** Debian's, which is beside the Ignition that the part is. */
export async function debianJudge(): Promise<Judge | undefined> {
  if (process.env.RAILHEAD_TEST_PARTS === 'none') {
    return skipped("configurations against Debian's ignition-validate", NOTHING_FETCHED);
  }
  const { ignition } = await ensureParts(['ignition']);
  if (ignition === undefined) return undefined;
  const program = ignition.path.replace(/usr\/lib\/dracut\/.*$/, 'usr/bin/ignition-validate');
  if (!existsSync(program)) {
    return skipped("configurations against Debian's ignition-validate", `${program} not found`);
  }
  const { version, env } = ignition;
  return { name: `Debian's ${version}`, version, program, env };
}

/** All in one shell: starting hundreds of programs from here takes three times as long. */
const LOOP = 'for file in *.ign; do "$0" "$file" >"$file.out" 2>&1; echo $? >"$file.rc"; done';

export async function judge({ program, env }: Judge, texts: readonly string[]): Promise<Verdict[]> {
  const folder = mkdtempSync(join(tmpdir(), 'railhead-judge-'));
  try {
    // Two halves for two cores.
    const halves = [0, 1].map((half) => join(folder, String(half)));
    for (const half of halves) mkdirSync(half);
    texts.forEach((text, index) => {
      writeFileSync(join(halves[index % 2]!, `${index}.ign`), text);
    });
    await Promise.all(
      halves.map(
        (cwd) =>
          new Promise<void>((resolve, reject) => {
            const shell = spawn('sh', ['-c', LOOP, program], { cwd, env: { ...process.env, ...env } });
            shell.once('error', reject);
            shell.once('exit', () => resolve());
          }),
      ),
    );
    return texts.map((_, index) => {
      const file = join(halves[index % 2]!, `${index}.ign`);
      const out = readFileSync(`${file}.out`, 'utf8');
      const errorPaths = [...out.matchAll(/^error at (\$\S*), line/gm)].map(([, path]) => path!);
      return { good: readFileSync(`${file}.rc`, 'utf8').trim() === '0', errorPaths };
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Pairs of configs, merged by Ignition's own code; undefined where it refuses one of them. */
export function mergeForReal(program: string, pairs: readonly (readonly [unknown, unknown])[]): unknown[] {
  const input = pairs.map((pair) => `${JSON.stringify(pair)}\n`).join('');
  const { status, stdout, stderr } = spawnSync(program, { input, encoding: 'utf8', maxBuffer: 1 << 28 });
  if (status !== 0) throw new Error(`${program}: ${stderr}`);
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { refused?: true })
    .map((result) => (result.refused ? undefined : result));
}
