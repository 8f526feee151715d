import { join } from 'node:path';
import type { ContentStore } from '../content/store.ts';
import type { EventLog } from '../events/log.ts';
import type { Inventory } from '../inventory/model.ts';
import type { Store } from '../store/store.ts';
import { AssetService } from './service.ts';
import { SigningKey } from './signing-key.ts';
import { Web } from './web.ts';

export interface AssetParts {
  store: Store;
  events: EventLog;
  contents: ContentStore;
  assetsDir: string;
  keysDir: string;
  inventory: () => Inventory;
  version: string;
  now: () => number;
  settings: {
    assetsParallel: number;
    flatcarMirror: string;
    updateMirror: string;
    bakeryMirror: string;
    flatcarKeyUrl: string;
    flatcarKeyFile?: string;
    flatcarKeyFingerprint: string;
    httpProxy?: string;
    httpsProxy?: string;
    noProxy?: string;
  };
}

/** The images' service, as the settings say. */
export function createAssetService(parts: AssetParts): AssetService {
  const { store, events, contents, assetsDir, keysDir, inventory, version, now, settings } = parts;
  const { httpProxy: HTTP_PROXY, httpsProxy: HTTPS_PROXY, noProxy: NO_PROXY } = settings;
  const web = new Web({ userAgent: `Railhead/${version}`, proxy: { HTTP_PROXY, HTTPS_PROXY, NO_PROXY } });
  const key = new SigningKey({
    file: settings.flatcarKeyFile ?? join(keysDir, 'flatcar-images.asc'),
    url: settings.flatcarKeyUrl,
    fingerprint: settings.flatcarKeyFingerprint,
    web,
  });
  return new AssetService({
    store,
    events,
    contents,
    assetsDir,
    inventory,
    mirrors: {
      flatcar: settings.flatcarMirror,
      update: settings.updateMirror,
      bakery: settings.bakeryMirror,
    },
    key,
    web,
    parallel: settings.assetsParallel,
    now,
    alsoNeeded: async () => [],
    patience: {},
  });
}
