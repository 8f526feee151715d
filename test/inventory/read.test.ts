import { execFileSync } from 'node:child_process';
import { chmod, mkdir, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatProblem } from '../../server/document/problem.ts';
import { RailheadError } from '../../server/errors.ts';
import { isInventoryFile, MAX_FILE_BYTES, readInventoryFolder } from '../../server/inventory/read.ts';
import { skipped } from '../support/skipped.ts';
import { tempFolder } from '../support/temp.ts';

async function folderWith(files: Record<string, string | Buffer>): Promise<string> {
  const dir = await tempFolder();
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text);
  return dir;
}

async function read(dir: string) {
  const { files, problems } = await readInventoryFolder(dir, 'inv');
  return { files: files.map(({ name }) => name), problems: problems.map(formatProblem) };
}

const isRoot = process.getuid?.() === 0;
if (isRoot)
  skipped('files without read permission', 'root can read them; run `npm test` as another user, too');

describe('an inventory folder', () => {
  it('is read in the order of names, whatever the order of the disk', async () => {
    const dir = await folderWith({ 'b.yaml': 'hosts: []', 'a.yml': '# a', '10.yaml': '' });
    expect(await readInventoryFolder(dir, 'inv')).toEqual({
      files: [
        { name: 'inv/10.yaml', text: '' },
        { name: 'inv/a.yml', text: '# a' },
        { name: 'inv/b.yaml', text: 'hosts: []' },
      ],
      problems: [],
    });
  });

  it.each(['hosts.yaml', 'hosts.yml', 'a.b.yaml', '~hosts.yaml'])('takes %s', (name) => {
    expect(isInventoryFile(name)).toBe(true);
  });

  it.each([
    '.hosts.yaml.swp',
    '.hosts.yaml',
    'hosts.yaml~',
    '#hosts.yaml#',
    '.#hosts.yaml',
    '#hosts.yaml',
    'hosts.yaml.bak',
    'hosts.yaml.dpkg-new',
    'hosts.json',
    'README.md',
    'yaml',
  ])('leaves what editors and others leave behind: %s', (name) => {
    expect(isInventoryFile(name)).toBe(false);
  });

  it('without a single file is a mistake, and not an inventory without hosts', async () => {
    const dir = await folderWith({ 'README.md': '# hosts', '.hosts.yaml.swp': 'x' });
    expect(await read(dir)).toEqual({
      files: [],
      problems: [
        'inv: error: there is no *.yaml file in this folder; an inventory without hosts is a file with `hosts: []`',
      ],
    });
  });

  it.each<{ what: string; path: (dir: string) => string; reason: string }>([
    { what: 'is not there', path: (dir) => join(dir, 'missing'), reason: 'it is not there' },
    { what: 'is a file', path: (dir) => join(dir, 'a.yaml'), reason: 'it is not a folder' },
    {
      what: 'is a link to itself',
      path: (dir) => join(dir, 'loop'),
      reason: 'its symbolic links go in a circle',
    },
  ])('that $what is said so, with what to do', async ({ path, reason }) => {
    const dir = await folderWith({ 'a.yaml': '' });
    await symlink('loop', join(dir, 'loop'));
    const failure = await readInventoryFolder(path(dir), 'inv').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RailheadError);
    expect(failure).toMatchObject({
      code: 'RH_INVENTORY_UNREADABLE',
      message: `Can't read the inventory folder ${path(dir)}: ${reason}.`,
      hint: 'Say which folder with --inventory DIR, or mend its rights.',
    });
  });

  it.skipIf(isRoot)('that may not be read is said so', async () => {
    const dir = await folderWith({});
    await chmod(dir, 0o000);
    await expect(readInventoryFolder(dir, 'inv')).rejects.toThrow('no right to read it');
  });
});

describe('a file of the inventory', () => {
  it('that can not be read does not hide the others', async () => {
    const dir = await folderWith({ 'a.yaml': 'hosts: []' });
    await mkdir(join(dir, 'folder.yaml'));
    await symlink('loop.yaml', join(dir, 'loop.yaml'));
    await symlink('gone.yaml', join(dir, 'dangling.yaml'));
    execFileSync('mkfifo', [join(dir, 'pipe.yaml')]);
    await symlink('/dev/zero', join(dir, 'zero.yaml'));
    expect(await read(dir)).toEqual({
      files: ['inv/a.yaml'],
      problems: [
        "inv/dangling.yaml:1:1: error: can't be read: it is not there",
        "inv/folder.yaml:1:1: error: can't be read: it is a folder, not a file",
        "inv/loop.yaml:1:1: error: can't be read: its symbolic links go in a circle",
        "inv/pipe.yaml:1:1: error: can't be read: it is not a regular file",
        "inv/zero.yaml:1:1: error: can't be read: it is not a regular file",
      ],
    });
  });

  it.skipIf(isRoot)('that may not be read is said so', async () => {
    const dir = await folderWith({ 'a.yaml': '' });
    await chmod(join(dir, 'a.yaml'), 0o000);
    expect((await read(dir)).problems).toEqual(["inv/a.yaml:1:1: error: can't be read: no right to read it"]);
  });

  it('may be a link', async () => {
    const [dir, elsewhere] = [await tempFolder(), await folderWith({ 'a.yaml': '# a' })];
    await symlink(join(elsewhere, 'a.yaml'), join(dir, 'hosts.yaml'));
    expect((await readInventoryFolder(dir, 'inv')).files).toEqual([{ name: 'inv/hosts.yaml', text: '# a' }]);
  });

  it('that is far too large is not even read', async () => {
    const dir = await folderWith({ 'a.yaml': '', 'b.yaml': '' });
    await truncate(join(dir, 'a.yaml'), 100 * 1024 * 1024); // takes no space on the disk
    await truncate(join(dir, 'b.yaml'), MAX_FILE_BYTES + 1);
    expect(await read(dir)).toEqual({
      files: [],
      problems: [
        'inv/a.yaml:1:1: error: the file has 100 MB, at most 16 MB are read; split it, or move it out of the folder',
        'inv/b.yaml:1:1: error: the file has 17 MB, at most 16 MB are read; split it, or move it out of the folder',
      ],
    });
  });

  it('that is one too many is not read either', async () => {
    const dir = await folderWith({});
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      await writeFile(join(dir, `${name}.yaml`), '');
      await truncate(join(dir, `${name}.yaml`), MAX_FILE_BYTES);
    }
    expect(await read(dir)).toEqual({
      files: ['inv/a.yaml', 'inv/b.yaml', 'inv/c.yaml', 'inv/d.yaml'],
      problems: [
        'inv/e.yaml:1:1: error: with this file the folder has more than 64 MB; move what is not inventory out of it',
      ],
    });
  });

  it.each<{ what: string; bytes: Buffer; place: string }>([
    { what: 'Latin-1', bytes: Buffer.from('hosts:\n  # Küche\n', 'latin1'), place: '2:6' },
    { what: 'UTF-16', bytes: Buffer.from('\uFEFFhosts: []', 'utf16le'), place: '1:1' },
    { what: 'cut in the middle of a letter', bytes: Buffer.from('a: ü').subarray(0, 4), place: '1:4' },
  ])('that is not UTF-8 is refused, and not mended: $what', async ({ bytes, place }) => {
    expect((await read(await folderWith({ 'a.yaml': bytes }))).problems).toEqual([
      `inv/a.yaml:${place}: error: not UTF-8 text; save it as UTF-8`,
    ]);
  });
});
