import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Folder } from '../../server/tftp/folder.ts';
import { tempFolder } from '../support/temp.ts';

const ask = (folder: Folder, name: string) => folder.resolve({ name, address: '10.0.0.1' });

it('gives everybody the same bytes, and drops them when nobody reads and there are too many', async () => {
  const dir = await tempFolder();
  await writeFile(join(dir, 'a'), 'x'.repeat(100));
  await writeFile(join(dir, 'b'), 'y'.repeat(100));
  const folder = new Folder(dir, { idleBytes: 150, busyBytes: 1000 });
  const readers = await Promise.all([ask(folder, 'a'), ask(folder, 'a'), ask(folder, 'a')]);
  const [first] = readers;
  for (const reader of readers)
    expect(reader).toMatchObject({ content: (first as { content: Buffer }).content });
  expect(folder.bytes).toBe(100);
  const other = await ask(folder, 'b');
  expect(folder.bytes).toBe(200);
  for (const reader of [...readers, other])
    if (reader !== undefined && 'release' in reader) reader.release?.();
  expect(folder.bytes).toBe(100);
});

it('serves a file that was changed as it is now, and lets those who began finish with the old one', async () => {
  const dir = await tempFolder();
  await writeFile(join(dir, 'a'), 'old');
  const folder = new Folder(dir);
  const before = await ask(folder, 'a');
  await writeFile(join(dir, 'a'), 'brand new');
  const after = await ask(folder, 'a');
  expect(String((before as { content: Buffer }).content)).toBe('old');
  expect(String((after as { content: Buffer }).content)).toBe('brand new');
});

it('refuses what is no file of the folder', async () => {
  const dir = await tempFolder();
  const outside = await tempFolder();
  await writeFile(join(outside, 'secret'), 'secret');
  await mkdir(join(dir, 'sub'));
  await symlink(join(outside, 'secret'), join(dir, 'link'));
  await symlink(outside, join(dir, 'linked-folder'));
  await symlink('loop', join(dir, 'loop'));
  await symlink('sub/inside', join(dir, 'inner-link'));
  await writeFile(join(dir, 'sub', 'inside'), 'inside');
  const folder = new Folder(dir);
  await writeFile(join(dir, '.hidden'), 'hidden');
  expect(await ask(folder, '.hidden')).toBeUndefined();
  expect(await ask(folder, 'nope')).toBeUndefined();
  expect(await ask(folder, 'sub/nope')).toBeUndefined();
  expect(await ask(folder, 'sub/inside/deeper')).toBeUndefined();
  expect(await ask(folder, 'sub')).toMatchObject({ code: 2, reason: 'sub is not a file' });
  expect(await ask(folder, 'link')).toMatchObject({
    code: 2,
    reason: expect.stringContaining('out of the root'),
  });
  expect(await ask(folder, 'linked-folder/secret')).toMatchObject({ code: 2 });
  expect(await ask(folder, 'loop')).toMatchObject({ code: 2, reason: expect.stringContaining('circle') });
  expect(await ask(folder, 'inner-link')).toMatchObject({ content: Buffer.from('inside') });
});

it('refuses more than its share of memory, with a reason', async () => {
  const dir = await tempFolder();
  await writeFile(join(dir, 'a'), 'x'.repeat(600));
  await writeFile(join(dir, 'b'), 'x'.repeat(600));
  const folder = new Folder(dir, { idleBytes: 0, busyBytes: 1000 });
  const first = await ask(folder, 'a');
  expect(await ask(folder, 'b')).toMatchObject({ code: 0, reason: expect.stringContaining('try again') });
  if (first !== undefined && 'release' in first) first.release?.();
  expect(await ask(folder, 'b')).toHaveProperty('content');
});
