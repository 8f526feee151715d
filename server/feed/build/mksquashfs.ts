import { spawn } from 'node:child_process';
import { RailheadError, systemCode } from '../../errors.ts';

/** What a program sees of the environment. */
export type Environment = Record<string, string | undefined>;

/** The first that can set the mode of the root folder. */
const OLDEST = [4, 5];

/** Throws when there is none, or one that is too old. */
export async function assertMksquashfs(env: Environment): Promise<void> {
  const { output } = await run(['-version'], env);
  const [, major = 0, minor = 0] = /mksquashfs version (\d+)\.(\d+)/.exec(output)?.map(Number) ?? [];
  if (major > OLDEST[0]! || (major === OLDEST[0]! && minor >= OLDEST[1]!)) return;
  throw new RailheadError('RH_TOOL_MISSING', `mksquashfs is too old: ${output.split('\n')[0]}.`, {
    hint: `Install squashfs-tools ${OLDEST.join('.')} or later.`,
  });
}

/** A file with the content of another, or a folder. */
export type Added = { from: string } | 'folder';

export interface SquashOptions {
  /** The folder that becomes the image. */
  dir: string;
  /** Must not exist. */
  output: string;
  /** Files that are not in the folder, by path. */
  added: ReadonlyMap<string, Added>;
  /** Seconds since 1970, for everything in the image. */
  time: number;
}

/** Makes an image that has the same bytes whenever and by whomever it is made. */
export async function squash({ dir, output, added, time }: SquashOptions, env: Environment): Promise<void> {
  const pseudo = [...added].flatMap(([path, what]) => [
    '-p',
    what === 'folder' ? `${path} d 0755 0 0` : `${path} f 0644 0 0 cat ${shellQuoted(what.from)}`,
  ]);
  const args = [
    dir,
    output,
    ...['-noappend', '-no-progress', '-quiet', '-all-root', '-no-xattrs', '-no-exports'],
    ...['-root-mode', '0755', '-all-time', String(time), '-mkfs-time', String(time)],
    ...pseudo,
  ];
  // It refuses to be told the time in two ways.
  const result = await run(args, { ...env, SOURCE_DATE_EPOCH: undefined });
  if (result.code === 0) return;
  throw new RailheadError('RH_SYSEXT_INVALID', `mksquashfs failed: ${lastLine(result.output)}`, {
    hint: 'Look at the rights of the folder and at the space on the disk.',
  });
}

function run(args: readonly string[], env: Environment): Promise<{ code: number; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn('mksquashfs', args, {
      env: { ...env, LC_ALL: 'C' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const collect = (chunk: Buffer): void => {
      output = `${output}${chunk}`.slice(-10_000);
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.once('error', (error) => reject(systemCode(error) === 'ENOENT' ? missing(error) : error));
    child.once('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

function missing(cause: unknown): RailheadError {
  return new RailheadError('RH_TOOL_MISSING', 'The program mksquashfs is not installed.', {
    hint: 'Install the package squashfs-tools (Debian, Ubuntu: apt-get install squashfs-tools).',
    cause,
  });
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? '';
}
