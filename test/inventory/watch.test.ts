import { mkdir, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FolderWatcher, folderSignature } from '../../server/inventory/watch.ts';
import { until } from '../support/poll.ts';
import { tempFolder } from '../support/temp.ts';

const NEVER = 3_600_000;

async function watched(times = { settleMs: 10, pollMs: NEVER }) {
  const parent = await tempFolder();
  const dir = join(parent, 'inventory');
  await mkdir(dir);
  await writeFile(join(dir, 'a.yaml'), 'one');
  let calls = 0;
  const watcher = new FolderWatcher(dir, () => calls++, times);
  await watcher.start();
  onTestFinished(() => watcher.stop());
  return {
    parent,
    dir,
    watcher,
    calls: () => calls,
    /** Waits for the watcher to have noticed what was just done. */
    notices: async (what: string): Promise<void> => {
      const before = calls;
      await until(`the watcher notices ${what}`, () => calls > before);
    },
  };
}

describe('a watched folder', () => {
  it.each<{ what: string; change: (dir: string) => Promise<unknown> }>([
    { what: 'a file that is written in place', change: (dir) => writeFile(join(dir, 'a.yaml'), 'two') },
    {
      what: 'a file that another is renamed over, as most editors do',
      change: async (dir) => {
        await writeFile(join(dir, '.a.yaml.new'), 'two');
        await rename(join(dir, '.a.yaml.new'), join(dir, 'a.yaml'));
      },
    },
    { what: 'a file that is added', change: (dir) => writeFile(join(dir, 'b.yaml'), '') },
    { what: 'a file that is removed', change: (dir) => unlink(join(dir, 'a.yaml')) },
    { what: 'a file that is renamed', change: (dir) => rename(join(dir, 'a.yaml'), join(dir, 'z.yaml')) },
    { what: 'a file of the same size', change: (dir) => writeFile(join(dir, 'a.yaml'), 'two') },
  ])('tells of $what', async ({ what, change }) => {
    const { dir, notices } = await watched();
    const noticed = notices(what);
    await change(dir);
    await noticed;
  });

  it('tells of each edit, not only of the first', async () => {
    const { dir, notices } = await watched();
    for (const text of ['two', 'three', 'four']) {
      const noticed = notices(text);
      await writeFile(join(dir, '.new'), text);
      await rename(join(dir, '.new'), join(dir, 'a.yaml'));
      await noticed;
    }
  });

  it('tells once of many writes that come close together', async () => {
    const { dir, calls, notices } = await watched({ settleMs: 100, pollMs: NEVER });
    const noticed = notices('the last of them');
    for (let n = 0; n < 20; n++) await writeFile(join(dir, 'a.yaml'), `write ${n}`);
    await noticed;
    expect(calls()).toBe(1);
  });

  it('does not tell of what is no inventory', async () => {
    const { dir, calls, notices } = await watched();
    await writeFile(join(dir, 'README.md'), 'x');
    await writeFile(join(dir, '.a.yaml.swp'), 'x');
    const noticed = notices('the file after them');
    await sleep(30); // the only way to see that nothing happens
    expect(calls()).toBe(0);
    await writeFile(join(dir, 'b.yaml'), 'x');
    await noticed;
    expect(calls()).toBe(1);
  });

  it('is still watched after it was replaced by another one', async () => {
    // Without the poll, only a watch of the new folder can tell.
    const { parent, dir, notices } = await watched({ settleMs: 200, pollMs: NEVER });
    const replaced = notices('the new folder');
    await mkdir(join(parent, 'new'));
    await writeFile(join(parent, 'new', 'a.yaml'), 'two');
    await rename(dir, join(parent, 'old'));
    await rename(join(parent, 'new'), dir);
    await replaced;
    const edited = notices('an edit in the new folder');
    await writeFile(join(dir, 'a.yaml'), 'three');
    await edited;
  });

  it('is found again after it was away', async () => {
    const { dir, notices } = await watched({ settleMs: 10, pollMs: 20 });
    const gone = notices('that it is gone');
    await rm(dir, { recursive: true });
    await gone;
    const back = notices('that it is back');
    await mkdir(dir);
    await writeFile(join(dir, 'a.yaml'), 'two');
    await back;
    const edited = notices('an edit after that');
    await writeFile(join(dir, 'a.yaml'), 'three');
    await edited;
  });

  it('may be a link that is turned to another folder', async () => {
    const parent = await tempFolder();
    for (const name of ['v1', 'v2']) {
      await mkdir(join(parent, name));
      await writeFile(join(parent, name, 'a.yaml'), name);
    }
    await symlink('v1', join(parent, 'current'));
    let calls = 0;
    const watcher = new FolderWatcher(join(parent, 'current'), () => calls++, { settleMs: 10, pollMs: 20 });
    await watcher.start();
    onTestFinished(() => watcher.stop());
    await symlink('v2', join(parent, 'next'));
    await rename(join(parent, 'next'), join(parent, 'current'));
    await until('the watcher notices the other folder', () => calls > 0);
  });

  it('need not be there yet', async () => {
    const parent = await tempFolder();
    let calls = 0;
    const watcher = new FolderWatcher(join(parent, 'later'), () => calls++, { settleMs: 10, pollMs: 20 });
    await watcher.start();
    onTestFinished(() => watcher.stop());
    await mkdir(join(parent, 'later'));
    await writeFile(join(parent, 'later', 'a.yaml'), '');
    await until('the watcher notices the folder', () => calls > 0);
  });

  it('is silent after the watcher was stopped, even about what came before', async () => {
    const sites = await Promise.all(Array.from({ length: 20 }, () => watched({ settleMs: 1, pollMs: 1 })));
    await Promise.all(
      sites.map(async ({ dir, watcher, calls }, index) => {
        await writeFile(join(dir, 'a.yaml'), 'two');
        await sleep(index % 4); // so that some are just looking
        watcher.stop();
        const before = calls();
        await sleep(30); // the only way to see that nothing happens
        expect(calls()).toBe(before);
      }),
    );
  });
});

describe('the signature of a folder', () => {
  it('stays the same while nothing changes', async () => {
    const { dir } = await watched();
    expect(await folderSignature(dir)).toBe(await folderSignature(dir));
  });

  it('never fails: being unreadable is a state', async () => {
    const dir = await tempFolder();
    expect(await folderSignature(join(dir, 'missing'))).toBe('unreadable ENOENT/');
    await writeFile(join(dir, 'file'), '');
    expect(await folderSignature(join(dir, 'file'))).toBe('unreadable ENOTDIR/');
  });

  it('sees a dangling link, and what it points to once that is there', async () => {
    const dir = await tempFolder();
    await symlink('target', join(dir, 'a.yaml'));
    const dangling = await folderSignature(dir);
    await writeFile(join(dir, 'target'), 'x');
    expect(await folderSignature(dir)).not.toBe(dangling);
  });
});
