/** A file on its way to a host. */
export interface Progress {
  file: string;
  bytes: number;
  startedAt: number;
}

/** How far the downloads of each host are, for the status page: only what is under way, and only in memory. */
export class ProgressBook {
  readonly #byHost = new Map<string, Progress>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  of(host: string, file: string): { onBytes: (count: number) => void; onEnd: (whole: boolean) => void } {
    const progress: Progress = { file, bytes: 0, startedAt: this.#now() };
    this.#byHost.set(host, progress);
    return {
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
