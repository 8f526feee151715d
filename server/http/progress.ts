/** A file on its way to a host. */
export interface Progress {
  file: string;
  bytes: number;
  /** All of it; 0 when that is not known. */
  size: number;
  startedAt: number;
}

/** How far the downloads of each host are, for the status page: only what is under way, and only in memory. */
export class ProgressBook {
  readonly #byHost = new Map<string, Progress>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Begins to count; the newest download of a host is the one that is shown. */
  begin(host: string, file: string): Counter {
    const progress: Progress = { file, bytes: 0, size: 0, startedAt: this.#now() };
    this.#byHost.set(host, progress);
    return {
      get bytes() {
        return progress.bytes;
      },
      onSize: (size) => {
        progress.size = size;
      },
      onBytes: (count) => {
        progress.bytes += count;
      },
      onEnd: () => {
        if (this.#byHost.get(host) === progress) this.#byHost.delete(host);
      },
    };
  }

  get(host: string): Progress | undefined {
    return this.#byHost.get(host);
  }
}

export interface Counter {
  readonly bytes: number;
  onSize: (size: number) => void;
  onBytes: (count: number) => void;
  onEnd: (whole: boolean) => void;
}
