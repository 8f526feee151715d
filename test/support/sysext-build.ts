import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { ensureParts } from '../../scripts/lib/parts.mjs';
import { tempFolder } from './temp.ts';

/** What `sysext build` needs in its environment to find mksquashfs; `undefined` after one line that says why. */
export async function mksquashfsEnv(): Promise<Record<string, string> | undefined> {
  if (process.env.RAILHEAD_TEST_PARTS === 'none') return undefined;
  const { mksquashfs } = await ensureParts(['mksquashfs']);
  if (mksquashfs === undefined) return undefined;
  return { ...mksquashfs.env, PATH: [dirname(mksquashfs.path), process.env.PATH].join(delimiter) };
}

/** A folder as somebody stages it for an extension. */
export async function stage(): Promise<string> {
  const dir = join(await tempFolder(), 'stage');
  await mkdir(join(dir, 'usr/bin'), { recursive: true });
  await mkdir(join(dir, 'opt/hello'), { recursive: true });
  await writeFile(join(dir, 'usr/bin/hello'), '#!/bin/sh\necho hello\n', { mode: 0o755 });
  await writeFile(join(dir, 'opt/hello/data'), 'x'.repeat(10_000));
  await symlink('/var/lib/hello', join(dir, 'usr/bin/state'));
  return dir;
}
