import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { linkAtomically } from '../../server/content/link.ts';
import { tempFolder } from '../support/temp.ts';

const noLinks = async (): Promise<never> => {
  throw Object.assign(new Error('no links here'), { code: 'EPERM' });
};

it.each([
  ['with hard links', undefined],
  ['where there are none', noLinks],
])('gives a second name, also over an older file, and leaves nothing else: %s', async (_how, makeLink) => {
  const dir = await tempFolder();
  await writeFile(join(dir, 'from'), 'bytes');
  await linkAtomically(join(dir, 'from'), join(dir, 'deep', 'to'), makeLink);
  await linkAtomically(join(dir, 'from'), join(dir, 'deep', 'to'), makeLink);
  expect(await readFile(join(dir, 'deep', 'to'), 'utf8')).toBe('bytes');
  expect(await readdir(join(dir, 'deep'))).toEqual(['to']);
  expect((await stat(join(dir, 'from'))).nlink).toBe(makeLink === undefined ? 2 : 1);
});

it('is not a copy when the link fails for another reason', async () => {
  const dir = await tempFolder();
  await expect(linkAtomically(join(dir, 'nothing'), join(dir, 'to'))).rejects.toThrow('ENOENT');
  expect(await readdir(dir)).toEqual([]);
});
