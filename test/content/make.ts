import { onTestFinished } from 'vitest';
import { Space, type SpaceOptions } from '../../server/content/space.ts';
import { ContentStore } from '../../server/content/store.ts';
import { openStore, type Store } from '../../server/store/store.ts';
import { tempFolder } from '../support/temp.ts';

export interface TestContents {
  contents: ContentStore;
  assetsDir: string;
  store: Store;
}

/** A content store on a folder and a database of its own. */
export async function makeContents(space: Partial<SpaceOptions> = {}): Promise<TestContents> {
  const store = await openStore({ dataDir: await tempFolder() });
  onTestFinished(() => store.close());
  const assetsDir = await tempFolder();
  return { contents: contentsOn(store, assetsDir, space), assetsDir, store };
}

export function contentsOn(
  store: Store,
  assetsDir: string,
  space: Partial<SpaceOptions> = {},
  now: () => number = Date.now,
): ContentStore {
  return new ContentStore({
    store,
    assetsDir,
    now,
    space: new Space({ dir: assetsDir, minFreeBytes: 0, ...space }),
  });
}
