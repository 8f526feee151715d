import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withTempFolder } from '../../scripts/lib/cache.mjs';
import { UNFINISHED, writeWhole } from '../../scripts/lib/files.mjs';
import { missingPackages } from '../../scripts/lib/packages.mjs';
import { run } from '../../scripts/lib/run.mjs';
import { holdSetupLock } from '../../scripts/lib/setup-lock.mjs';
import { tempFolder } from '../support/temp.ts';

describe('locked packages', () => {
  const lock = (packages: object) => JSON.stringify({ packages });
  const machine = { os: 'linux', cpu: 'x64', libc: 'glibc', dev: false };
  const missing = (locked: object, installed: object | undefined, options = machine) =>
    missingPackages(lock(locked), installed && lock(installed), options).map(({ path }) => path);
  const pg = { 'node_modules/pg': { version: '1.0.0', integrity: 'sha512-a' } };

  it('are missing when not installed, or another version or content is', () => {
    expect(missing(pg, undefined)).toEqual(['node_modules/pg']);
    expect(missing(pg, pg)).toEqual([]);
    expect(missing(pg, { 'node_modules/pg': { version: '1.0.1', integrity: 'sha512-a' } })).toHaveLength(1);
    expect(missing(pg, { 'node_modules/pg': { version: '1.0.0', integrity: 'sha512-b' } })).toHaveLength(1);
  });

  it('only count where they apply', () => {
    const locked = {
      '': { version: '0' },
      'node_modules/mac': { version: '1', os: ['darwin'] },
      'node_modules/arm': { version: '1', cpu: ['arm64'] },
      'node_modules/musl': { version: '1', libc: ['musl'] },
      'node_modules/not-linux': { version: '1', os: ['!linux'] },
      'node_modules/dev': { version: '1', dev: true },
      'node_modules/linked': { link: true },
      'node_modules/here': { version: '1', os: ['linux'], cpu: ['x64'], libc: ['glibc'] },
    };
    expect(missing(locked, undefined)).toEqual(['node_modules/here']);
    expect(missing(locked, undefined, { ...machine, dev: true })).toEqual([
      'node_modules/dev',
      'node_modules/here',
    ]);
  });
});

describe('the set-up lock', () => {
  const hold = (lock: string, stillNeeded = () => true) => holdSetupLock(lock, 'testing', stillNeeded);

  it('lets one after the other work', async () => {
    const lock = join(await tempFolder(), '.lock');
    const order: string[] = [];
    const work = async (name: string) => {
      const held = await hold(lock);
      order.push(`${name} in`);
      await new Promise((resolve) => setTimeout(resolve, 20));
      order.push(`${name} out`);
      held?.release();
    };
    await Promise.all([work('a'), work('b')]);
    expect(order.map((entry) => entry.split(' ')[1])).toEqual(['in', 'out', 'in', 'out']);
    expect(await readdir(join(lock, '..'))).toEqual([]);
  });

  it('is not needed any more after the wait', async () => {
    const lock = join(await tempFolder(), '.lock');
    const first = await hold(lock);
    const second = hold(lock, () => false);
    first?.release();
    expect(await second).toBeUndefined();
  });

  it('is taken from a process that is dead', async () => {
    const lock = join(await tempFolder(), '.lock');
    const { pid } = spawnSync(process.execPath, ['-e', '']);
    await mkdir(lock);
    await writeFile(join(lock, `${pid}-12345`), '');
    const held = await hold(lock);
    expect(held).toBeDefined();
    held?.release();
  });
});

describe('files', () => {
  it('are written whole, in folders that are made', async () => {
    const dir = await tempFolder();
    writeWhole(join(dir, 'a', 'b'), 'one');
    writeWhole(join(dir, 'a', 'b'), 'two');
    expect(await readFile(join(dir, 'a', 'b'), 'utf8')).toBe('two');
    expect((await readdir(join(dir, 'a'))).filter((name) => name.startsWith(UNFINISHED))).toEqual([]);
  });

  it('in a temporary folder are gone afterwards, whatever happens', async () => {
    const dir = await tempFolder();
    const work = withTempFolder(dir, async (temp) => {
      await writeFile(join(temp, 'x'), '');
      throw new Error('no');
    });
    await expect(work).rejects.toThrow('no');
    expect(await readdir(dir)).toEqual([]);
  });
});

describe('running a program', () => {
  it('gives its output and exit code', async () => {
    expect(await run('/bin/sh', ['-c', 'echo out; echo err >&2; exit 3'], { seconds: 60 })).toEqual({
      code: 3,
      out: 'out\n',
      err: 'err\n',
    });
  });

  it('says that there is no such program', async () => {
    expect(await run('/no/such', [], { seconds: 60 })).toMatchObject({
      code: -1,
      err: expect.stringContaining('ENOENT'),
    });
  });

  it('does not wait for what it has left behind when it takes too long', async () => {
    const note = join(await tempFolder(), 'pid');
    const script = 'sleep 60 & echo $! > "$0.new"; mv "$0.new" "$0"; wait';
    // A busy machine may not even have begun it in the shortest of these.
    for (let seconds = 0.2; !existsSync(note); seconds *= 4) {
      const { code, err } = await run('/bin/sh', ['-c', script, note], { seconds });
      expect({ code, err }).toEqual({ code: -1, err: `/bin/sh took over ${seconds} s` });
    }
    // Fails if it has ended: then it was waited for.
    process.kill(Number(await readFile(note, 'utf8')));
  });

  it('ends when told to', async () => {
    const signal = AbortSignal.timeout(100);
    expect(await run('sleep', ['600'], { seconds: 600, signal })).toMatchObject({
      code: -1,
      err: 'sleep was stopped',
    });
  });
});
