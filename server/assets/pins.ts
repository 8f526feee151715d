import { flatcarBoard } from '../inventory/arch.ts';
import { compareVersions, parseVersion } from '../inventory/versions.ts';
import { getMeta, setMeta } from '../store/meta.ts';
import type { Db } from '../store/store.ts';
import type { NeededImage } from './needs.ts';

/** What `current` stands for, by channel and board: resolved once, then kept until somebody says otherwise. */
export async function pinOf(
  db: Db,
  image: Pick<NeededImage, 'channel' | 'arch'>,
): Promise<string | undefined> {
  return getMeta(db, keyOf(image));
}

export async function pin(
  db: Db,
  image: Pick<NeededImage, 'channel' | 'arch'>,
  version: string,
): Promise<void> {
  await setMeta(db, keyOf(image), version);
}

/** A mirror that goes back in time is broken or malicious. */
export function isOlder(version: string, than: string): boolean {
  return compareVersions(parseVersion(version), parseVersion(than)) < 0;
}

function keyOf({ channel, arch }: Pick<NeededImage, 'channel' | 'arch'>): string {
  return `assets.pin.${channel}/${flatcarBoard(arch)}`;
}
