import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Progress } from '../../scripts/lib/bootloaders/progress.mjs';
import { tempFolder } from '../support/temp.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
});

afterEach(() => {
  vi.useRealTimers();
});

it('never counts backwards, although apt deletes what it has unpacked and may have to start over', async () => {
  const said: string[] = [];
  const progress = new Progress((line) => said.push(line));
  const folder = join(await tempFolder(), 'lists');
  const holds = async (bytes: number) => {
    await rm(folder, { recursive: true, force: true });
    await mkdir(join(folder, 'partial'), { recursive: true });
    await writeFile(join(folder, 'partial', 'Packages'), Buffer.alloc(bytes));
    vi.advanceTimersByTime(10_000);
  };

  let stop = progress.watch('syslinux', folder);
  await holds(100_000);
  await holds(1_000_000);
  await holds(500_000);
  await rm(folder, { recursive: true }); // while it is moved
  vi.advanceTimersByTime(10_000);
  stop();
  vi.advanceTimersByTime(60_000);

  stop = progress.watch('syslinux', folder); // from another mirror
  await holds(300_000);
  await holds(2_000_000);
  stop();
  expect(said).toEqual([
    '… syslinux: 10 s, 0.1 MB so far',
    '… syslinux: 20 s, 1.0 MB so far',
    '… syslinux: 30 s, 1.0 MB so far',
    '… syslinux: 40 s, 1.0 MB so far',
    '… syslinux: 110 s, 1.0 MB so far',
    '… syslinux: 120 s, 2.0 MB so far',
  ]);
});

it('counts each download on its own', async () => {
  const said: string[] = [];
  const progress = new Progress((line) => said.push(line));
  const [one, two] = [await tempFolder(), await tempFolder()];
  await writeFile(join(one, 'a.deb'), Buffer.alloc(3_000_000));
  const stops = [progress.watch('ipxe', one), progress.watch('syslinux', two)];
  vi.advanceTimersByTime(10_000);
  for (const stop of stops) stop();
  expect(said).toEqual(['… ipxe: 10 s, 3.0 MB so far', '… syslinux: 10 s, 0.0 MB so far']);
});
