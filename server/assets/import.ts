import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { RailheadError } from '../errors.ts';
import { pinCurrent } from './current.ts';
import { type FolderListing, FolderSource, findIn, listFolder } from './folder-source.ts';
import type { Job } from './job.ts';
import { type NeededImage, needs } from './needs.ts';
import { pinOf } from './pins.ts';
import { type PlannedFile, plan } from './plan.ts';
import { acquireOne, findLacking, finishSet } from './steps.ts';
import { type AssetTools, acquirerFor } from './tools.ts';

/** Takes what the inventory needs from a folder or a file, with the same checks as from the network. */
export async function importFrom(tools: AssetTools, job: Job, path: string): Promise<void> {
  const listing = await listFolder(path);
  await takeKey(tools, listing);
  const wanted = needs(tools.inventory());
  const versions = await versionsFor(tools, wanted.images, listing);
  const sets = plan(wanted, tools.mirrors, (image) => versions.get(image));
  const acquirer = acquirerFor(tools, job);
  const lacking = await findLacking(tools, sets, acquirer, job);
  const folders = new Set(wanted.images.map((image) => versions.get(image) ?? image.version));
  const found = new Map(
    lacking.flatMap((file: PlannedFile) => {
      const match = findIn(listing, file.name, folders.size === 1);
      const isMeant = listing.only === undefined || match === listing.only;
      return match === undefined || !isMeant ? [] : [[file.name, match] as const];
    }),
  );
  for (const { name } of lacking) if (!found.has(name)) job.forget(name);
  await tools.events.append({ kind: 'assets.job-started', data: { job: 'import', files: found.size } });
  if (found.size === 0) {
    throw new RailheadError(
      'RH_NOT_FOUND',
      `There is nothing in ${path} that the inventory needs and lacks.`,
      {
        hint: '`npx railhead assets list` shows what is needed; files keep the names that their makers gave them.',
      },
    );
  }
  const source = new FolderSource({
    root: listing.root,
    found,
    assetsDir: tools.assetsDir,
    space: tools.contents.space,
  });
  for (const file of lacking.filter(({ name }) => found.has(name)))
    await acquireOne(tools, job, acquirer, source, file);
  for (const set of sets) await finishSet(tools, set, acquirer, versions);
}

/** Where there is no network, the key comes with the images; its fingerprint is what counts. */
async function takeKey({ key }: AssetTools, { root, files }: FolderListing): Promise<void> {
  for (const file of files.filter((each) => /key.*\.asc$/i.test(basename(each)))) {
    const text = await readFile(join(root, file), 'utf8').catch(() => undefined);
    if (text !== undefined) await key.accept(text, file).catch(() => undefined);
  }
}

async function versionsFor(
  tools: AssetTools,
  images: readonly NeededImage[],
  { versions: inFolder }: FolderListing,
): Promise<Map<NeededImage, string>> {
  const offered = new Set(inFolder.values());
  const versions = new Map<NeededImage, string>();
  for (const image of images.filter(({ version }) => version === 'current')) {
    let version = await pinOf(tools.store.db, image);
    // Only when it is clear which one is meant.
    if (version === undefined && offered.size === 1) {
      [version] = offered;
      if (version !== undefined) await pinCurrent(tools, image, version);
    }
    if (version !== undefined) versions.set(image, version);
  }
  return versions;
}
