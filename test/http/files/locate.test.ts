import { execFileSync } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { locate } from '../../../server/http/files/locate.ts';
import { tempFolder } from '../../support/temp.ts';
import { get, serve } from './serve.ts';

async function folderWithTraps(): Promise<{ root: string; outside: string }> {
  const root = await tempFolder();
  const outside = await tempFolder();
  await writeFile(join(outside, 'secret'), 'secret');
  await mkdir(join(root, 'sub'));
  await writeFile(join(root, 'sub', 'inside'), 'inside');
  await symlink(join(outside, 'secret'), join(root, 'link-out'));
  await symlink(outside, join(root, 'folder-out'));
  await symlink('sub/inside', join(root, 'link-in'));
  await symlink('circle', join(root, 'circle'));
  execFileSync('mkfifo', [join(root, 'pipe')]);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(join(root, 'socket'), resolve));
  onTestFinished(() => void server.close());
  return { root, outside };
}

it('opens files of the root only, and nothing that is not a file', async () => {
  const { root, outside } = await folderWithTraps();
  for (const path of [
    ...['', '.', 'sub', 'sub/', 'nope', 'sub/nope', 'sub/inside/deeper', 'x'.repeat(5000)],
    ...['link-out', 'folder-out/secret', 'circle', 'pipe', 'socket'],
    ...['..', '../', `../${outside.split('/').at(-1)}/secret`, 'sub/../sub/inside', 'sub/../../secret'],
    ...['/etc/passwd', '//etc/passwd', join(outside, 'secret'), join(root, 'sub/inside')],
    ...['sub/inside\0', '\0', 'sub\0/inside'],
  ]) {
    await expect(locate({ root, path }), path).rejects.toMatchObject({ code: 'RH_NOT_FOUND' });
  }
  for (const path of ['sub/inside', 'link-in', './sub//inside']) {
    const { handle, identity } = await locate({ root, path });
    expect(identity.size).toBe(6);
    await handle.close();
  }
});

it('is not led out by any name', async () => {
  const { root } = await folderWithTraps();
  const name = fc.constantFrom(
    '..',
    '.',
    '',
    'sub',
    'inside',
    'secret',
    'folder-out',
    'link-out',
    '%2e%2e',
    '\\',
  );
  await fc.assert(
    fc.asyncProperty(fc.array(name, { maxLength: 6 }), async (names) => {
      const located = await locate({ root, path: names.join('/') }).catch(() => undefined);
      if (located === undefined) return;
      const content = await located.handle.readFile('utf8');
      await located.handle.close();
      expect(content).toBe('inside');
    }),
  );
});

it('works with a root that is itself a link', async () => {
  const { root, outside } = await folderWithTraps();
  await symlink(root, join(outside, 'assets'));
  const { handle } = await locate({ root: join(outside, 'assets'), path: 'sub/inside' });
  await handle.close();
});

it('says over HTTP that there is nothing, for all of them', async () => {
  const served = await serve();
  const outside = await tempFolder();
  await writeFile(join(outside, 'secret'), 'secret');
  await symlink(join(outside, 'secret'), join(served.root, 'link'));
  for (const path of [
    'nope',
    'link',
    '..%2f..%2fetc/passwd',
    '../../etc/passwd',
    '%2fetc/passwd',
    '/etc/passwd',
    'a%00b',
  ]) {
    const { status, body } = await get(served, path);
    expect(status, path).toBe(404);
    expect(JSON.parse(String(body))).toMatchObject({ error: { code: 'RH_NOT_FOUND' } });
  }
  expect(served.sent.ends.every((whole) => !whole)).toBe(true);
});
