import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { contentPath } from '../../server/content/names.ts';
import { tempFolder } from '../support/temp.ts';
import { contentsOn, makeContents } from './make.ts';

const NAME = 'flatcar/stable/amd64-usr/4593.2.5/flatcar_production_pxe.vmlinuz';
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

async function fileWith(text: string): Promise<string> {
  const path = join(await tempFolder(), 'file');
  await writeFile(path, text);
  return path;
}

it('holds a file under its name, and the same bytes once', async () => {
  const { contents, assetsDir } = await makeContents();
  const from = await fileWith('kernel');
  const put = await contents.put({ from, name: NAME, origin: 'a test' });
  expect(put).toMatchObject({ name: NAME, sha256: sha256('kernel'), size: 6, verifiedHow: 'nobody' });
  await contents.put({ from, name: 'sysext/a/a-1.raw', origin: 'a test', sha256: sha256('kernel') });
  expect(await readFile(join(assetsDir, NAME), 'utf8')).toBe('kernel');
  const inodes = await Promise.all(
    [NAME, 'sysext/a/a-1.raw', contentPath(sha256('kernel'))].map(
      async (path) => (await stat(join(assetsDir, path))).ino,
    ),
  );
  expect(new Set(inodes).size).toBe(1);
  expect(await contents.usage()).toMatchObject({ bytes: 6, contents: 1, names: 2 });
  expect(await contents.resolve(NAME)).toMatchObject({ path: join(assetsDir, NAME), size: 6 });
  expect((await contents.names('sysext/')).map(({ name }) => name)).toEqual(['sysext/a/a-1.raw']);
  expect(await readFile(from, 'utf8')).toBe('kernel');
  expect(await readdir(join(assetsDir, '.content', 'copies'))).toEqual([]);
});

it('refuses a file that is not what it should be, and leaves no trace of it', async () => {
  const { contents, assetsDir } = await makeContents();
  const from = await fileWith('kernel');
  const wrong = contents.put({ from, name: NAME, origin: 'a test', sha256: sha256('other') });
  await expect(wrong).rejects.toMatchObject({ code: 'RH_CONTENT_WRONG' });
  expect(await contents.names()).toEqual([]);
  expect(await contents.resolve(NAME)).toBeUndefined();
  expect(await readdir(assetsDir)).toEqual(['.content']);
});

it.each(['../x', '/etc/passwd', 'a//b', '.content/x', 'a/.hidden', 'a/../b', '', 'a b', 'a/\0'])(
  'refuses the name %j',
  async (name) => {
    const { contents } = await makeContents();
    const from = await fileWith('x');
    await expect(contents.put({ from, name, origin: 'a test' })).rejects.toMatchObject({
      code: 'RH_REQUEST_INVALID',
    });
  },
);

it('replaces what had the name, and forgets content that has none any more', async () => {
  const { contents, assetsDir } = await makeContents();
  await contents.put({ from: await fileWith('old'), name: NAME, origin: 'a test' });
  await contents.put({ from: await fileWith('newer'), name: NAME, origin: 'a test' });
  expect(await readFile(join(assetsDir, NAME), 'utf8')).toBe('newer');
  expect(await contents.usage()).toMatchObject({ bytes: 5, contents: 1, names: 1 });
  expect(await contents.orphans()).toEqual([]);
  await expect(stat(join(assetsDir, contentPath(sha256('old'))))).rejects.toThrow();
  expect(await contents.recordedSize(NAME)).toBe(5);
});

it('removes a content with its last name, and the folders that are empty then', async () => {
  const { contents, assetsDir } = await makeContents();
  await contents.put({ from: await fileWith('kernel'), name: NAME, origin: 'a test' });
  const current = NAME.replace('4593.2.5', 'current');
  await contents.alias(current, NAME);
  expect(await contents.remove(NAME)).toBe(true);
  expect(await readFile(join(assetsDir, current), 'utf8')).toBe('kernel');
  expect(await contents.remove(current)).toBe(true);
  expect(await contents.remove(current)).toBe(false);
  expect(await readdir(assetsDir)).toEqual(['.content']);
  expect(await contents.usage()).toMatchObject({ bytes: 0, contents: 0, names: 0 });
  await expect(stat(join(assetsDir, contentPath(sha256('kernel'))))).rejects.toThrow();
});

it('does not count a file that was cut, and gives a lost name back at start', async () => {
  const { contents, assetsDir, store } = await makeContents();
  await contents.put({ from: await fileWith('kernel'), name: NAME, origin: 'a test' });
  await chmod(join(assetsDir, NAME), 0o644);
  await rm(join(assetsDir, NAME));
  expect(await contents.resolve(NAME)).toBeUndefined();
  expect(await contents.recordedSize(NAME)).toBe(6);
  const again = contentsOn(store, assetsDir);
  await again.start();
  expect(await again.resolve(NAME)).toMatchObject({ size: 6 });
  await truncate(join(assetsDir, NAME), 3);
  expect(await again.resolve(NAME)).toBeUndefined();
  expect(await again.recordedSize(NAME)).toBe(6);
  await again.put({ from: await fileWith('kernel'), name: NAME, origin: 'a test' });
  expect(await again.resolve(NAME)).toMatchObject({ size: 6 });
});

it('sweeps what a crash left, but nothing that may still be under way', async () => {
  const { contents, assetsDir, store } = await makeContents();
  const copies = join(assetsDir, '.content', 'copies');
  await mkdir(copies, { recursive: true });
  await mkdir(join(assetsDir, 'flatcar'));
  await writeFile(join(copies, 'a.partial'), 'half');
  for (const name of ['.x.0123456789ab.partial', '.keep.partial', 'x'])
    await writeFile(join(assetsDir, 'flatcar', name), 'half');
  await contents.start();
  expect(await readdir(copies)).toEqual(['a.partial']);
  const later = contentsOn(store, assetsDir, {}, () => Date.now() + 7_200_000);
  await later.start();
  expect(await readdir(copies)).toEqual([]);
  expect((await readdir(join(assetsDir, 'flatcar'))).sort()).toEqual(['.keep.partial', 'x']);
});

it('takes nothing that would leave too little room', async () => {
  const { contents } = await makeContents({ minFreeBytes: 1000, freeBytes: async () => 1003 });
  await contents.put({ from: await fileWith('abc'), name: 'a', origin: 'a test' });
  const put = contents.put({ from: await fileWith('abcd'), name: 'b', origin: 'a test' });
  await expect(put).rejects.toMatchObject({ code: 'RH_DISK_FULL', hint: expect.stringContaining('prune') });
});

it('keeps every name right when many change at once', async () => {
  const { contents, assetsDir } = await makeContents();
  const files = await Promise.all(['one', 'two', 'three'].map(fileWith));
  await Promise.all(
    Array.from({ length: 30 }, async (_, at) => {
      const name = `n/${at % 5}`;
      if (at % 7 === 6) await contents.remove(name);
      else await contents.put({ from: files[at % 3]!, name, origin: 'a test' });
    }),
  );
  for (const { name, sha256: hash } of await contents.names()) {
    expect(sha256(await readFile(join(assetsDir, name), 'utf8'))).toBe(hash);
  }
  expect(await contents.orphans()).toEqual([]);
});
