import type { ContentStore } from '../content/store.ts';
import type { EventLog } from '../events/log.ts';
import type { ClusterSpec } from '../inventory/model.ts';
import { DroppedFiles } from './dropped-files.ts';
import { SysextFeed } from './feed.ts';
import { SysextImages } from './images.ts';
import { SysextPublisher } from './publisher.ts';
import { FeedKey } from './signing-key.ts';

export interface FeedServiceOptions {
  contents: ContentStore;
  events: EventLog;
  /** Of the inventory in force. */
  clusters: () => readonly ClusterSpec[];
  assetsDir: string;
  keysDir: string;
  baseUrl: () => string;
  now: () => number;
  onFault: (error: unknown) => void;
}

/** How often the folder is looked at for what was put there by hand, and for what is to be swept. */
const LOOK_EVERY_MS = 30_000;

/** The sysext feed, with all that it needs. */
export class FeedService {
  readonly key: FeedKey;
  readonly images: SysextImages;
  readonly feed: SysextFeed;
  readonly publisher: SysextPublisher;
  readonly #dropped: DroppedFiles;
  readonly #onFault: (error: unknown) => void;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(options: FeedServiceOptions) {
    const { contents, events, clusters, assetsDir, keysDir, baseUrl, now } = options;
    this.#onFault = options.onFault;
    this.key = new FeedKey(keysDir);
    this.images = new SysextImages({ contents, assetsDir, now });
    this.feed = new SysextFeed({ images: this.images, key: this.key, clusters, baseUrl, now });
    this.publisher = new SysextPublisher({ contents, images: this.images, events, clusters, assetsDir, now });
    this.#dropped = new DroppedFiles({ contents, events, assetsDir, now });
  }

  /** Makes the key if there is none. What lies in the folder is looked at when it has started. */
  async start(): Promise<void> {
    await this.key.start();
    this.#timer = setInterval(() => void this.look(), LOOK_EVERY_MS);
    this.#timer.unref();
    void this.look();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  /** Takes in what was put into the folder by hand, and sweeps what was taken out long ago. Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #look(): Promise<void> {
    try {
      await this.#dropped.takeIn();
      this.images.forget();
      await this.publisher.sweep();
    } catch (error) {
      this.#onFault(error);
    }
  }
}
