import type { NeededImage } from './needs.ts';
import { pin, pinOf } from './pins.ts';
import { imageFolder, type PlannedSet } from './plan.ts';
import type { AssetTools } from './tools.ts';

/** Remembers what `current` stands for. */
export async function pinCurrent(
  { events }: Pick<AssetTools, 'events'>,
  image: NeededImage,
  version: string,
): Promise<void> {
  await events.transact(async (db) => {
    const previous = await pinOf(db, image);
    if (previous === version) return [];
    await pin(db, image, version);
    const data = { image: imageFolder(image, 'current'), version };
    return [{ kind: 'assets.pinned', data: previous === undefined ? data : { ...data, previous } }];
  });
}

/** Makes the names below `current/` lead to the files of its version, all of which are there. */
export async function linkCurrent(
  { contents }: Pick<AssetTools, 'contents'>,
  { image, alias }: PlannedSet,
  version: string,
): Promise<void> {
  if (image === undefined || alias === undefined) return;
  const folder = `${imageFolder(image, version)}/`;
  const [wanted, present] = await Promise.all([contents.names(folder), contents.names(`${alias}/`)]);
  const there = new Map(present.map(({ name, sha256 }) => [name, sha256]));
  for (const { name, sha256 } of wanted) {
    const linked = `${alias}/${name.slice(folder.length)}`;
    const isRight = there.get(linked) === sha256 && (await contents.resolve(linked)) !== undefined;
    if (!isRight) await contents.alias(linked, name);
    there.delete(linked);
  }
  for (const stale of there.keys()) await contents.remove(stale);
}
