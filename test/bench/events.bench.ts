import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import SQLite from 'better-sqlite3';
import { EventLog } from '../../server/events/log.ts';
import { openStore } from '../../server/store/store.ts';
import { interleaved, ms, ratio, report } from './measure.ts';

/** 1,000 hosts with 20 reports each, all acknowledged after their commit; the peer is bare better-sqlite3. */
const HOSTS = 1000;
const REPORTS = 20;
const TOTAL = HOSTS * REPORTS;

const folder = await mkdtemp(join(tmpdir(), 'railhead-bench-'));
const store = await openStore({ dataDir: folder });
const log = new EventLog({ store, now: Date.now, keepCount: 1e9, keepDays: 90 });

const bare = new SQLite(join(folder, 'bare.db'));
bare.pragma('journal_mode = WAL');
bare.pragma('synchronous = FULL');
bare.exec('create table events (id integer primary key autoincrement, at, kind, host, attempt, data)');
const insert = bare.prepare('insert into events (at, kind, host, attempt, data) values (?, ?, ?, ?, ?)');
const batches = bare.transaction((from: number, to: number) => {
  for (let n = from; n < to; n++)
    insert.run(n, 'server.stopped', `n${n % HOSTS}`, null, '{"reason":"bench"}');
});

const times = await interleaved(3, {
  ours: () =>
    Promise.all(
      // Each host reports its next stage when the last one is acknowledged.
      Array.from({ length: HOSTS }, async (_, host) => {
        for (let n = 0; n < REPORTS; n++) {
          await log.append({ kind: 'server.stopped', host: `n${host}`, data: { reason: 'bench' } });
        }
      }),
    ),
  bareInBatchesOf50: () => {
    for (let n = 0; n < TOTAL; n += 50) batches(n, n + 50);
  },
  bareOneByOne: () => {
    for (let n = 0; n < 2000; n++) batches(n, n + 1);
  },
});
await log.stop();
await store.close();
bare.close();
await rm(folder, { recursive: true });

const rate = (count: number, time: number): string =>
  `${Math.round(count / (time / 1000)).toLocaleString('en')} events/s`;
report([
  [
    `${TOTAL} reports of ${HOSTS} hosts through the event log`,
    `${ms(times.ours)} (${rate(TOTAL, times.ours)})`,
  ],
  [
    'bare better-sqlite3, commits of 50',
    `${rate(TOTAL, times.bareInBatchesOf50)}; ours is ${ratio(times.bareInBatchesOf50 / times.ours)} of it`,
  ],
  [
    'bare better-sqlite3, a commit each',
    `${rate(2000, times.bareOneByOne)}; ours is ${ratio((times.bareOneByOne * TOTAL) / 2000 / times.ours)} of it`,
  ],
]);
