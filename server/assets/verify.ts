import { chmod, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { hashFile } from '../content/hash-file.ts';
import type { Job } from './job.ts';
import { setAside } from './quarantine.ts';
import type { AssetTools } from './tools.ts';

/** Reads every file again and compares it with what is recorded. What is wrong is set aside and no longer served. */
export async function verify(tools: AssetTools, job: Job): Promise<void> {
  const { contents, assetsDir, events } = tools;
  const names = await contents.names();
  for (const { name, size } of names) {
    job.expect(name);
    job.update(name, { size });
  }
  await events.append({ kind: 'assets.job-started', data: { job: 'verify', files: names.length } });
  // Names of one content are one file on disk: it is read once.
  const judged = new Map<string, string | undefined>();
  for (const { name, sha256, size } of names) {
    job.signal.throwIfAborted();
    job.update(name, { state: 'verifying' });
    const path = join(assetsDir, name);
    const found = await stat(path).catch(() => undefined);
    const key = `${sha256} ${found?.ino}`;
    if (!judged.has(key)) judged.set(key, await faultOf(path, sha256, found?.size, size, job.signal));
    const reason = judged.get(key);
    if (reason === undefined) {
      job.update(name, { state: 'there', bytes: size });
      continue;
    }
    job.update(name, { state: 'failed', reason });
    if (found !== undefined) await chmod(path, 0o600).catch(() => {});
    const note = await setAside(assetsDir, name, found === undefined ? undefined : path, reason);
    await contents.remove(name);
    await events.append({ kind: 'assets.refused', data: { name, reason, note } });
  }
}

async function faultOf(
  path: string,
  sha256: string,
  found: number | undefined,
  recorded: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (found === undefined) return 'it is gone';
  if (found !== recorded) return `it has ${found} bytes instead of ${recorded}`;
  const hashes = await hashFile(path, signal);
  return hashes.sha256 === sha256 ? undefined : 'its bytes have changed since it was verified';
}
