import { spawnSync } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tarOf } from '../../server/cluster/tar.ts';
import { tempFolder } from '../support/temp.ts';

it('is an archive to the real tar', async () => {
  const dir = await tempFolder();
  const files = [
    { path: 'action', content: 'init\n' },
    { path: 'pki/etcd/ca.crt', content: 'x'.repeat(512), mode: 0o644 },
    { path: 'empty', content: '' },
    { path: 'bytes', content: Buffer.from([0, 255, 10]) },
  ];
  const { status, stderr } = spawnSync('tar', ['-x', '-C', dir], { input: tarOf(files) });
  expect(stderr.toString()).toBe('');
  expect(status).toBe(0);
  for (const { path, content } of files)
    expect(await readFile(join(dir, path))).toEqual(Buffer.from(content));
  expect((await stat(join(dir, 'action'))).mode & 0o777).toBe(0o600);
  expect((await stat(join(dir, 'pki/etcd/ca.crt'))).mode & 0o777).toBe(0o644);
  expect(() => tarOf([{ path: 'x'.repeat(101), content: '' }])).toThrow(/too long/);
});
