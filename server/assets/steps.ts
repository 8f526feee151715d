import { toRailheadError } from '../errors.ts';
import type { Acquirer } from './acquire.ts';
import { linkCurrent, pinCurrent } from './current.ts';
import { FetchFault } from './fault.ts';
import type { Job } from './job.ts';
import type { NeededImage } from './needs.ts';
import { Partial } from './partial.ts';
import type { PlannedFile, PlannedSet } from './plan.ts';
import type { Source } from './source.ts';
import type { AssetTools } from './tools.ts';
import { partialPath } from './web-source.ts';

/** The planned files that are not there yet; the job knows of all of them. */
export async function findLacking(
  { assetsDir }: Pick<AssetTools, 'assetsDir'>,
  sets: readonly PlannedSet[],
  acquirer: Acquirer,
  job: Job,
): Promise<PlannedFile[]> {
  const files = sets.flatMap((set) => set.files);
  const lacking: PlannedFile[] = [];
  for (const file of new Map(files.map((each) => [each.name, each])).values()) {
    job.expect(file.name);
    if (!(await acquirer.has(file))) {
      lacking.push(file);
      continue;
    }
    job.update(file.name, { state: 'there' });
    // A process that was killed right after it had kept the file has left its download.
    await new Partial(partialPath(assetsDir, file.name)).discard();
  }
  return lacking;
}

/** One file into the content store. Throws only what must end the whole job. */
export async function acquireOne(
  { contents, events }: AssetTools,
  job: Job,
  acquirer: Acquirer,
  source: Source,
  file: PlannedFile,
): Promise<void> {
  job.signal.throwIfAborted();
  try {
    await acquirer.acquire(file, source, {
      onState: (state) => job.update(file.name, { state }),
      onProgress: (bytes, total, fetched) => job.progress(file.name, bytes, total, fetched),
    });
    const added = await contents.resolve(file.name);
    const size = added?.size ?? 0;
    job.update(file.name, { state: 'added', bytes: size, size });
    const data = { name: file.name, size, verifiedHow: added?.verifiedHow ?? '' };
    await events.append({ kind: 'assets.added', data });
  } catch (error) {
    job.signal.throwIfAborted();
    const isOfFile = error instanceof FetchFault;
    job.update(file.name, {
      state: 'failed',
      reason: isOfFile ? error.message : toRailheadError(error).message,
    });
    // A full disk or a bug ends it all; a file that can't be had does not keep the others from being there.
    if (!isOfFile) {
      job.stop();
      throw error;
    }
  }
}

/** When all files of a `current` image are there, it becomes what `current` stands for. */
export async function finishSet(
  tools: AssetTools,
  set: PlannedSet,
  acquirer: Acquirer,
  versions: ReadonlyMap<NeededImage, string>,
): Promise<void> {
  const version = set.image === undefined ? undefined : versions.get(set.image);
  if (set.image === undefined || set.alias === undefined || version === undefined) return;
  for (const file of set.files) if (!(await acquirer.has(file))) return;
  await linkCurrent(tools, set, version);
  await pinCurrent(tools, set.image, version);
}
