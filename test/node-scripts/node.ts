import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { ensureParts } from '../../scripts/lib/parts.mjs';
import { onPath } from '../../scripts/lib/run.mjs';
import { fileIn } from '../../server/ignition/config-file.ts';
import { type Appliance, ask, ROOT } from '../support/appliance.ts';
import { skipped } from '../support/skipped.ts';
import { tempFolder } from '../support/temp.ts';

export const SCRIPTS = join(ROOT, 'templates/ignition/files');

/** What runs a script, and where it finds its programs first. */
export interface Shell {
  name: string;
  command: string[];
  /** Programs of busybox in place of those of the system. */
  applets: string | undefined;
}

/** Where a program is that a stand-in of the same name calls. */
export function realProgram(name: string): string {
  return onPath(name)[0] ?? name;
}

/** Everything that the scripts use and busybox has. */
const APPLETS =
  'cat chmod cp cut grep head ls mkdir mv od printf readlink rm sed sha256sum sleep sync tail tar tr wc'.split(
    ' ',
  );

/** Flatcar's sh is bash; dash and busybox are stricter and smaller. Those that can be had. */
export async function shells(): Promise<Shell[]> {
  const here = ['dash', 'bash'].flatMap((name): Shell[] => {
    const path = `/bin/${name}`;
    if (!existsSync(path)) skipped(`scripts of hosts in ${name}`, `${path} not found`);
    const command = name === 'bash' ? [path, '--posix'] : [path];
    return existsSync(path) ? [{ name, command, applets: undefined }] : [];
  });
  if (process.env.RAILHEAD_TEST_PARTS === 'none') return here;
  const { busybox } = await ensureParts(['busybox']);
  if (busybox === undefined) return here;
  return [...here, { name: 'busybox', command: [busybox.path, 'sh'], applets: busybox.path }];
}

export interface ScriptEnd {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A script that runs. */
export interface Running {
  ended: Promise<ScriptEnd>;
  said: () => string;
  /** With all that it has started. */
  stop: () => Promise<ScriptEnd>;
}

/** A machine as its scripts see it: folders of its own, and programs that stand in for those that it has. */
export class TestNode {
  readonly dir: string;
  readonly #shell: Shell;

  private constructor(dir: string, shell: Shell) {
    this.dir = dir;
    this.#shell = shell;
  }

  static async make(shell: Shell): Promise<TestNode> {
    const node = new TestNode(await tempFolder(), shell);
    for (const folder of ['etc', 'bin', 'applets']) await mkdir(node.path(folder));
    if (shell.applets !== undefined) {
      for (const name of APPLETS) await symlink(shell.applets, node.path('applets', name));
    }
    const run = (script: string): string => `exec ${shell.command.join(' ')} ${join(SCRIPTS, script)} "$@"`;
    for (const script of ['railhead-node', 'railhead-disk']) await node.program(script, run(script));
    return node;
  }

  path(...parts: string[]): string {
    return join(this.dir, ...parts);
  }

  async text(...parts: string[]): Promise<string> {
    return readFile(this.path(...parts), 'utf8');
  }

  async write(name: string, content: string | Buffer): Promise<void> {
    await mkdir(dirname(this.path(name)), { recursive: true });
    await writeFile(this.path(name), content);
  }

  /** Stands in for a program that the machine has. */
  async program(name: string, body: string): Promise<void> {
    await this.write(`bin/${name}`, `#!/bin/sh\n${body}\n`);
    await chmod(this.path('bin', name), 0o755);
  }

  /** What the machine is configured with, from the appliance itself. */
  async configure(appliance: Appliance, token: string): Promise<void> {
    const ca = await readFile(appliance.dataPath('keys', 'ca.pem'), 'utf8');
    const headers = { authorization: `Bearer ${token}` };
    const { status, body } = await ask(`${appliance.httpsUrl}/boot/${token}/config.ign`, { headers, ca });
    if (status !== 200) throw new Error(body);
    for (const name of ['node.env', 'install.env', 'disk.env', 'data.env', 'ca.pem', 'token']) {
      const content = fileIn(JSON.parse(body), `/etc/railhead/${name}`);
      if (content !== undefined) await this.write(`etc/${name}`, content);
    }
  }

  run(script: string, args: readonly string[] = [], env: Record<string, string> = {}): Promise<ScriptEnd> {
    return this.start(script, args, env).ended;
  }

  start(script: string, args: readonly string[] = [], env: Record<string, string> = {}): Running {
    const [program = '', ...rest] = this.#shell.command;
    const child = spawn(program, [...rest, join(SCRIPTS, script), ...args], {
      cwd: this.dir,
      // A group of its own, so that what it has started ends with it.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: `${this.path('bin')}:${this.path('applets')}:${process.env.PATH}`,
        RAILHEAD_ETC: this.path('etc'),
        RAILHEAD_STATE: this.path('state'),
        RAILHEAD_RUN: this.path('run'),
        RAILHEAD_DATA_DIR: this.path('data'),
        RAILHEAD_NODE: this.path('bin/railhead-node'),
        RAILHEAD_DISK_FINDER: this.path('bin/railhead-disk'),
        ...env,
      },
    });
    const end = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk) => (end.stdout += chunk));
    child.stderr.on('data', (chunk) => (end.stderr += chunk));
    const ended = new Promise<ScriptEnd>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => resolve({ code, ...end }));
    });
    const stop = (): Promise<ScriptEnd> => {
      killGroup(child);
      return ended;
    };
    onTestFinished(() => killGroup(child));
    return { ended, said: () => end.stderr, stop };
  }
}

function killGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended this moment.
  }
}
