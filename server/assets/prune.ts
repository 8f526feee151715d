import { readdir, rm, stat } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import type { NamedContent } from '../content/store.ts';
import { allLiveAttempts } from '../store/attempts.ts';
import { needs } from './needs.ts';
import { pinOf } from './pins.ts';
import { plan } from './plan.ts';
import { emptyAside, listAside } from './quarantine.ts';
import type { AssetTools } from './tools.ts';
import { PARTIAL_FOLDER, partialPath } from './web-source.ts';

export interface Pruned {
  name: string;
  size: number;
  /** Why it may go. */
  why: string;
}

/** Names that must stay: everything the inventory needs, everything a boot was offered, and what others ask for. */
export async function neededNames(tools: AssetTools): Promise<{ names: Set<string>; folders: string[] }> {
  const { db } = tools.store;
  const wanted = needs(tools.inventory());
  const pins = new Map<unknown, string | undefined>();
  for (const image of wanted.images) pins.set(image, await pinOf(db, image));
  const sets = plan(wanted, tools.mirrors, (image) => pins.get(image));
  const names = new Set([
    ...sets.flatMap(({ files }) => files.map(({ name }) => name)),
    ...(await tools.alsoNeeded()),
  ]);
  const offered = (await allLiveAttempts(db)).map(
    ({ offer }) => (JSON.parse(offer) as { image: string }).image,
  );
  const aliases = sets.flatMap(({ alias }) => alias ?? []);
  return { names, folders: [...new Set([...offered, ...aliases])] };
}

/** What nothing needs, and removes it unless it is only asked for. */
export async function prune(tools: AssetTools, { dryRun }: { dryRun: boolean }): Promise<Pruned[]> {
  const { contents, assetsDir, events } = tools;
  const needed = await neededNames(tools);
  const stale = (await contents.names()).filter((named) => isStale(named, needed));
  const partials = await stalePartials(assetsDir, needed.names);
  const orphans = await contents.orphans();
  const aside = await listAside(assetsDir);
  const pruned: Pruned[] = [
    ...stale.map(({ name, size }) => ({ name, size, why: 'nothing needs it' })),
    ...partials.map(({ path, size }) => ({
      name: relative(assetsDir, path),
      size,
      why: 'an unfinished download that nothing needs',
    })),
    ...orphans.map(({ path, size }) => ({ name: relative(assetsDir, path), size, why: 'it has no name' })),
    ...aside.map(({ path, size }) => ({ name: path, size, why: 'it was refused' })),
  ];
  if (dryRun || pruned.length === 0) return pruned;
  for (const { name } of stale) await contents.remove(name);
  for (const { path } of [...partials, ...orphans]) await rm(path, { force: true });
  await emptyAside(assetsDir);
  const bytes = pruned.reduce((sum, { size }) => sum + size, 0);
  await events.append({ kind: 'assets.pruned', data: { files: pruned.length, bytes } });
  return pruned;
}

/** Only what the mirror has brought: sysexts that people have built are theirs to remove. Pure. */
export function isStale(
  { name, origin }: Pick<NamedContent, 'name' | 'origin'>,
  { names, folders }: { names: ReadonlySet<string>; folders: readonly string[] },
): boolean {
  const isMirrored =
    name.startsWith('flatcar/') || (name.startsWith('sysext/') && /^(https?:|import:)/.test(origin));
  if (!isMirrored || names.has(name)) return false;
  // A signature stays with its file.
  if (names.has(name.replace(/\.(sig|DIGESTS|sha256)$/, ''))) return false;
  return !folders.some((folder) => name.startsWith(`${folder}/`));
}

async function stalePartials(
  assetsDir: string,
  names: ReadonlySet<string>,
): Promise<{ path: string; size: number }[]> {
  const dir = join(assetsDir, PARTIAL_FOLDER);
  const kept = new Set([...names].map((name) => basename(partialPath(assetsDir, name))));
  const found = await readdir(dir).catch(() => []);
  return Promise.all(
    found
      .filter((file) => !kept.has(file.replace(/\.note$/, '')))
      .map(async (file) => ({ path: join(dir, file), size: (await stat(join(dir, file))).size })),
  );
}
