import { pinCurrent } from './current.ts';
import { Downloader } from './download.ts';
import { reasonOf } from './fault.ts';
import type { Job } from './job.ts';
import { type NeededImage, needs } from './needs.ts';
import { inParallel } from './parallel.ts';
import { pinOf } from './pins.ts';
import { imageFolder, type PlannedFile, plan } from './plan.ts';
import { resolveCurrent } from './resolve-current.ts';
import { acquireOne, findLacking, finishSet } from './steps.ts';
import { type AssetTools, acquirerFor } from './tools.ts';
import { WebSource } from './web-source.ts';

/** Gets everything that the inventory needs and that is not there yet. Throws what ends it as a whole. */
export async function sync(tools: AssetTools, job: Job, { refresh }: { refresh: boolean }): Promise<void> {
  const { contents, web, assetsDir, parallel, patience } = tools;
  const { signal } = job;
  const downloader = new Downloader({ web, space: contents.space, ...patience });
  const { pauseMs } = patience;
  const source = new WebSource({
    web,
    downloader,
    assetsDir,
    signal,
    ...(pauseMs === undefined ? {} : { pauseMs }),
  });
  const wanted = needs(tools.inventory());
  const versions = await currentVersions(tools, job, source, wanted.images, refresh);
  const sets = plan(wanted, tools.mirrors, (image) => versions.get(image));
  const acquirer = acquirerFor(tools, job);
  const lacking = await findLacking(tools, sets, acquirer, job);
  await tools.events.append({ kind: 'assets.job-started', data: { job: 'sync', files: lacking.length } });
  if (refresh && lacking.some(({ proof }) => proof.kind !== 'sums'))
    await tools.key.refresh(signal).catch(() => signal.throwIfAborted());
  await assertRoom(tools, job, source, lacking);
  await inParallel(lacking, parallel, (file) => acquireOne(tools, job, acquirer, source, file));
  for (const set of sets) await finishSet(tools, set, acquirer, versions);
}

async function currentVersions(
  { store, mirrors, events }: AssetTools,
  job: Job,
  source: WebSource,
  images: readonly NeededImage[],
  refresh: boolean,
): Promise<Map<NeededImage, string>> {
  const versions = new Map<NeededImage, string>();
  for (const image of images.filter(({ version }) => version === 'current')) {
    try {
      const options = { db: store.db, source, mirror: mirrors.flatcar, refresh };
      const version = await resolveCurrent(image, options);
      versions.set(image, version);
      // The first is pinned at once, so that an interrupted sync goes on with it; a later one when it is there.
      if ((await pinOf(store.db, image)) === undefined) await pinCurrent({ events }, image, version);
    } catch (error) {
      job.signal.throwIfAborted();
      const name = `${imageFolder(image, 'current')}/version.txt`;
      job.expect(name);
      job.update(name, { state: 'failed', reason: reasonOf(error) });
      const pinned = await pinOf(store.db, image);
      if (pinned !== undefined) versions.set(image, pinned);
    }
  }
  return versions;
}

/** All at once: a disk that fills up after an hour is worse than one that is refused at once. */
async function assertRoom(
  { contents, parallel }: AssetTools,
  job: Job,
  source: WebSource,
  files: readonly PlannedFile[],
): Promise<void> {
  await inParallel(files, parallel, async (file) => {
    const size = await source.sizeOf(file);
    if (size !== undefined) job.update(file.name, { size });
  });
  job.signal.throwIfAborted();
  const here = await Promise.all(files.map((file) => source.bytesHere(file)));
  const left = job.status.size - here.reduce((sum, bytes) => sum + bytes, 0);
  await contents.space.assertRoomFor(Math.max(0, left), 'the images');
}
