import { expect, it } from 'vitest';
import { Job } from '../../server/assets/job.ts';
import { formatBytes, formatSeconds } from '../../server/cli/bytes.ts';
import { barsOf, endOf, lineOf, totalOf } from '../../server/cli/job-report.ts';

it('numbers are for people', () => {
  expect([0, 999, 1000, 431_200_000, 2.5e12].map(formatBytes)).toEqual([
    '0 B',
    '999 B',
    '1.0 kB',
    '431.2 MB',
    '2.5 TB',
  ]);
  expect([5, 65, 3661].map(formatSeconds)).toEqual(['0:05', '1:05', '1:01:01']);
});

it('a job is told in bars, in lines and in a sentence', () => {
  let now = 0;
  const job = new Job('sync', () => now);
  for (const name of ['there', 'half', 'bad']) job.expect(name);
  job.update('there', { state: 'there' });
  job.update('half', { state: 'fetching', size: 4_000_000 });
  for (; now < 1000; now += 100) job.progress('half', (now + 100) * 2000, 4_000_000, 200_000);
  job.update('bad', { state: 'failed', reason: 'its server is gone' });
  expect(barsOf(job.status)[0]).toMatch(/^half +\[#{12}\.{12}\] {2}50 % 2\.0 MB of 4\.0 MB$/);
  expect(totalOf(job.status)).toMatch(/^1 of 3 files, 1 failed, 2\.0 MB of 4\.0 MB, 1\.\d MB\/s, 0:02 left$/);
  expect(job.status.files.map(lineOf)).toEqual([
    'there      there',
    'fetching   half (4.0 MB), from 2.0 MB on',
    'failed     bad: its server is gone',
  ]);
  job.end('failed', 'The disk is full.');
  expect(endOf(job.status)).toBe(
    'sync failed: 1 there, 0 new, 1 failed; 2.0 MB fetched in 1.0 s.\nThe disk is full.',
  );
});
