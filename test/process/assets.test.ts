import { randomBytes } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import type { JobStatus } from '../../server/assets/job.ts';
import type { AssetView } from '../../server/assets/service.ts';
import { type Origin, startOrigin } from '../assets/origin.ts';
import { mirrorsOn, publishRelease, publishSysexts } from '../assets/release.ts';
import { makeKey, type TestKey } from '../assets/signing.ts';
import {
  Appliance,
  hasTerminal,
  NODE,
  newSite,
  RAILHEAD,
  type Site,
  siteEnv,
  startRailhead,
} from '../support/appliance.ts';
import { cliOn } from '../support/cli.ts';
import { until } from '../support/poll.ts';
import { lastDescendant } from '../support/processes.ts';

const FOLDER = '/stable/amd64-usr/4593.2.5';
const INITRD = 'flatcar_production_pxe_image.cpio.gz';
const BIG = `flatcar${FOLDER}/${INITRD}`;

let key: TestKey;
beforeAll(async () => {
  key = await makeKey();
});

interface Mirrored {
  site: Site;
  origin: Origin;
  start: () => Promise<Appliance>;
}

/** A site whose appliance is to mirror a release of stand-ins from a server of the test. */
async function mirrored(initrdBytes: number): Promise<Mirrored> {
  const origin = await startOrigin();
  origin.files.set('/key.asc', Buffer.from(key.publicArmored));
  await publishRelease(origin, key, { version: '4593.2.5', sizes: [500_000, initrdBytes, 100_000] });
  publishSysexts(origin, 'kubernetes', { 'kubernetes-v1.36.4-x86-64.raw': randomBytes(300_000) });
  publishSysexts(origin, 'containerd', { 'containerd-2.1.5-x86-64.raw': randomBytes(200_000) });
  const site = await newSite();
  const { flatcarMirror, updateMirror, bakeryMirror, flatcarKeyUrl } = mirrorsOn(origin);
  const env = {
    RAILHEAD_FLATCAR_MIRROR: flatcarMirror,
    RAILHEAD_UPDATE_MIRROR: updateMirror,
    RAILHEAD_BAKERY_MIRROR: bakeryMirror,
    RAILHEAD_FLATCAR_KEY_URL: flatcarKeyUrl,
    RAILHEAD_FLATCAR_KEY_FINGERPRINT: key.fingerprint,
    RAILHEAD_ASSETS_MIN_FREE_MEGABYTES: '1',
    RAILHEAD_LOG_LEVEL: 'error',
  };
  return { site, origin, start: () => new Appliance(site, { env }).running() };
}

async function expectServed(appliance: Appliance, origin: Origin): Promise<void> {
  for (const [path, bytes] of origin.files) {
    if (!path.startsWith(`${FOLDER}/flatcar_production_pxe`)) continue;
    const answer = await fetch(`${appliance.url}/assets/flatcar${path}`);
    expect(answer.status, path).toBe(200);
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytes), path).toBe(true);
    const head = await appliance.ask(`/assets/flatcar${path}`, { method: 'HEAD' });
    expect(head, path).toMatchObject({ status: 200, headers: { 'content-length': String(bytes.length) } });
  }
}

it('survives kill -9 at any moment of a sync: the bytes are right, and none that was verified comes again', async () => {
  const { site, origin, start } = await mirrored(6_000_000);
  origin.bytesPerSecond = 2_500_000;
  origin.stopsAt = 4_000_000; // the initrd is never complete before the last start
  /** How often each verified file had been asked for by then. */
  const verified = new Map<string, number>();
  const isProof = (name: string) => /\.(sig|DIGESTS)$/.test(name);
  const pathOf = (name: string) =>
    name.replace(/^flatcar|^sysext/, (room) => (room === 'flatcar' ? '' : '/bakery'));
  const rounds = 10;
  for (let round = 1; round <= rounds; round++) {
    const appliance = await start();
    try {
      await cliPost(appliance, 'sync');
      await sleep(20 + Math.random() * 450);
      // A busy machine may have got nowhere in any of these moments.
      if (round === rounds) {
        await until('a file is verified', async () =>
          (await appliance.json<AssetView[]>('/api/v1/assets')).some(
            ({ name, state }) => state === 'there' && !isProof(name),
          ),
        );
        await until('some of a file is there', async () => (await partialBytes(site)) > 0);
      }
      const views = await appliance.json<AssetView[]>('/api/v1/assets');
      // What proves a file is asked for with it, until the file itself is there.
      for (const { name, state } of views.filter(({ name }) => !isProof(name)))
        if (state === 'there' && !verified.has(name)) verified.set(name, origin.gets(pathOf(name)).length);
    } finally {
      await appliance.kill();
    }
  }
  origin.bytesPerSecond = undefined;
  origin.stopsAt = undefined;
  const last = await start();
  const cli = cliOn(site);
  const done = await cli('assets', 'sync', '--json');
  expect(done, done.stderr).toMatchObject({ code: 0 });
  expect((JSON.parse(done.stdout) as JobStatus).state).toBe('done');
  await expectServed(last, origin);
  expect(verified.size, 'some were verified before the last kill').toBeGreaterThan(0);
  for (const [name, times] of verified) expect(origin.gets(pathOf(name)), name).toHaveLength(times);
  // What was cut was gone on with: no request begins before the one that was cut.
  const starts = origin
    .gets(`${FOLDER}/${INITRD}`)
    .map(({ range }) => Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0));
  expect(starts).toEqual(starts.toSorted((a, b) => a - b));
  expect(starts.at(-1)).toBeGreaterThan(0);
  expect(await readdir(join(site.dir, 'assets', '.content', 'partial'))).toEqual([]);
  expect((await cli('assets', 'verify')).stdout).toMatch(/verify done: \d+ there, 0 new, 0 failed/);
  await last.stop();
});

it('goes on when its watcher leaves, shows bars on a terminal, and stops when it is told to', async () => {
  const { site, origin, start } = await mirrored(8_000_000);
  origin.bytesPerSecond = 2_000_000;
  origin.stopsAt = 4_000_000; // so that it is still under way, however long the rest takes
  const appliance = await start();
  try {
    const cli = cliOn(site);
    if (hasTerminal) {
      const command = ['script', '-qefc', `${NODE} ${RAILHEAD} assets sync`, '/dev/null'];
      const watching = startRailhead([], { command, env: siteEnv(site), cwd: site.dir });
      for (const shown of [
        /\[#*\.*\] +\d+ % [\d.]+ .?B of 8\.0 MB/,
        /of \d+ files, .* of .*\/s, \d+:\d\d left/,
      ])
        await until(`it shows ${shown}`, () => shown.test(watching.stdout));
      process.kill(await lastDescendant(watching.pid), 'SIGINT');
      await watching.ended;
    } else await cliPost(appliance, 'sync');
    const { job } = await appliance.json<{ job: JobStatus }>('/api/v1/assets/job');
    expect(job.state).toBe('running');
    await until('some of it is there', async () => (await bytesOf(appliance, BIG)) > 1_000_000);
    expect((await cli('assets', 'sync', '--stop')).stdout).toMatch(/^sync stopped: /);
    expect((await appliance.ask(`/assets/${BIG}`)).status).toBe(404);
    origin.bytesPerSecond = undefined;
    origin.stopsAt = undefined;
    const resumed = await cli('assets', 'sync');
    expect(resumed, resumed.stderr).toMatchObject({ code: 0 });
    expect(resumed.stdout).toMatch(/added {6}flatcar\S+cpio\.gz \(8\.0 MB\)/);
    expect(resumed.stdout).toMatch(/sync done: \d+ there, \d+ new, 0 failed; \d\.\d MB fetched/);
    expect(origin.gets(`${FOLDER}/${INITRD}`).at(-1)).toMatchObject({ status: 206 });
    await expectServed(appliance, origin);
    expect((await cli('assets', 'list')).stdout).toContain('OpenPGP signature by');
    const listed = JSON.parse((await cli('assets', 'list', '--json')).stdout) as AssetView[];
    expect(listed.every(({ name, state }) => name !== '' && state === 'there')).toBe(true);
    expect((await cli('assets', 'prune', '--dry-run')).stdout).toContain('nothing that could go');
    expect((await cli('assets', 'import', site.inventory)).code).toBe(1);
    const page = (await appliance.ask('/')).body;
    expect(page).not.toContain('the OS image');
    await appliance.stop();
  } finally {
    await appliance.kill();
  }
});

/** How much of a file the job has; `NaN` when it is not one of the job's. */
/** What is on disk of files that are not complete, whichever server began them. */
async function partialBytes(site: Site): Promise<number> {
  const folder = join(site.dir, 'assets', '.content', 'partial');
  const names = await readdir(folder);
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
  return Math.max(0, ...sizes);
}

async function bytesOf(appliance: Appliance, file: string): Promise<number> {
  const { job } = await appliance.json<{ job: JobStatus }>('/api/v1/assets/job');
  return job.files.find(({ name }) => name === file)?.bytes ?? Number.NaN;
}

async function cliPost(appliance: Appliance, what: string): Promise<void> {
  const headers = { authorization: `Bearer ${await appliance.token()}`, 'content-type': 'application/json' };
  const answer = await appliance.ask(`/api/v1/assets/${what}`, { method: 'POST', headers, body: '{}' });
  expect(answer.status, answer.body).toBe(200);
}
