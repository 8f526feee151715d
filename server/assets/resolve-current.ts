import type { Db } from '../store/store.ts';
import { versionInText } from './digests.ts';
import { FetchFault } from './fault.ts';
import type { NeededImage } from './needs.ts';
import { isOlder, pinOf } from './pins.ts';
import { imageUrl, VERSION_FILE } from './plan.ts';
import type { WebSource } from './web-source.ts';

/** What `current` stands for: the version that it was pinned to, or the one that the mirror names now. */
export async function resolveCurrent(
  image: NeededImage,
  { db, source, mirror, refresh }: { db: Db; source: WebSource; mirror: string; refresh: boolean },
): Promise<string> {
  const pinned = await pinOf(db, image);
  if (pinned !== undefined && !refresh) return pinned;
  const url = `${imageUrl(mirror, image, 'current')}/${VERSION_FILE}`;
  // Its own signature is checked with the rest of the version's files, which all must be signed.
  const text = (await source.small(url))?.toString('utf8');
  const version = text === undefined ? undefined : versionInText(text);
  if (version === undefined)
    throw new FetchFault(
      `${source.originOf({ name: '', url, proof: { kind: 'signature' } })} names no version.`,
    );
  if (pinned !== undefined && isOlder(version, pinned)) {
    throw new FetchFault(
      `The mirror says that ${image.channel} ${image.arch} current is ${version}, which is older than ${pinned}: refused.`,
    );
  }
  return version;
}
