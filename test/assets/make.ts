import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { JobStatus } from '../../server/assets/job.ts';
import { AssetService } from '../../server/assets/service.ts';
import { SigningKey } from '../../server/assets/signing-key.ts';
import type { AssetTools } from '../../server/assets/tools.ts';
import { Web } from '../../server/assets/web.ts';
import { Space, type SpaceOptions } from '../../server/content/space.ts';
import { ContentStore } from '../../server/content/store.ts';
import type { Event } from '../../server/events/kinds.ts';
import { EventLog } from '../../server/events/log.ts';
import { openStore } from '../../server/store/store.ts';
import { indexOf } from '../support/hosts.ts';
import { until } from '../support/poll.ts';
import { tempFolder } from '../support/temp.ts';
import type { Origin } from './origin.ts';
import { mirrorsOn } from './release.ts';
import type { TestKey } from './signing.ts';

/** One profile, one cluster. */
export const inventoryOf = ({ version = '4593.2.5', install = 'ram', cluster = false } = {}): string => `
${cluster ? 'clusters: [{name: lab, kubernetes: 1.36.4, containerd: 2.1.5}]' : ''}
profiles: [{name: p, os: flatcar, version: ${version}, install: ${install}}]
pools: [{name: w, profile: p${cluster ? ', cluster: lab, role: control-plane' : ''}}]
hosts: [{name: n1, pool: w, macs: ['52:54:00:00:00:01']${install === 'disk' ? ', disk: /dev/disk/by-id/x' : ''}}]
`;

export interface TestAssets {
  service: AssetService;
  tools: AssetTools;
  contents: ContentStore;
  assetsDir: string;
  setInventory: (text: string) => void;
  events: () => Promise<Event[]>;
  /** Begins a sync and waits for its end. */
  sync: (options?: { refresh?: boolean }) => Promise<JobStatus>;
  ended: () => Promise<JobStatus>;
}

/** The images' service on an origin of a test: impatient, with a key of the test. */
export async function makeAssets(
  origin: Pick<Origin, 'url'>,
  key: Pick<TestKey, 'fingerprint'>,
  options: { inventory?: string; space?: Partial<SpaceOptions>; tools?: Partial<AssetTools> } = {},
): Promise<TestAssets> {
  const store = await openStore({ dataDir: await tempFolder() });
  const log = new EventLog({ store, now: Date.now, keepCount: 10_000, keepDays: 1 });
  onTestFinished(async () => {
    await log.stop();
    await store.close();
  });
  const assetsDir = await tempFolder();
  const space = new Space({ dir: assetsDir, minFreeBytes: 0, ...options.space });
  const contents = new ContentStore({ store, assetsDir, now: Date.now, space });
  const web = new Web({ userAgent: 'test', answerMs: 1000 });
  const mirrors = mirrorsOn(origin);
  let { inventory } = indexOf(options.inventory ?? inventoryOf());
  const tools: AssetTools = {
    store,
    events: log,
    contents,
    assetsDir,
    inventory: () => inventory,
    mirrors: {
      flatcar: mirrors.flatcarMirror,
      update: mirrors.updateMirror,
      bakery: mirrors.bakeryMirror,
    },
    key: new SigningKey({
      file: join(await tempFolder(), 'key.asc'),
      url: mirrors.flatcarKeyUrl,
      fingerprint: key.fingerprint,
      web,
    }),
    web,
    parallel: 2,
    now: Date.now,
    alsoNeeded: async () => [],
    patience: { maxFailures: 3, windowMs: 300, bytesPerSecond: 1000, pauseMs: 5 },
    ...options.tools,
  };
  const service = new AssetService(tools);
  onTestFinished(() => service.stop());
  const ended = () =>
    until('the job has ended', () => {
      const { status } = service;
      return status !== undefined && status.state !== 'running' && status;
    });
  return {
    service,
    tools,
    contents,
    assetsDir,
    setInventory: (text) => {
      ({ inventory } = indexOf(text));
    },
    events: () => log.list({ limit: 1000 }),
    sync: async (given) => {
      service.sync(given);
      return ended();
    },
    ended,
  };
}
