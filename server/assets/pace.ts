/** Calls back when too little comes in: a server that says nothing, or just enough to keep a connection open. */
export class PaceWatch {
  readonly #onSlow: () => void;
  readonly #leastBytes: number;
  #bytes = 0;
  #timer: NodeJS.Timeout;

  constructor(options: { windowMs: number; bytesPerSecond: number; onSlow: () => void }) {
    this.#onSlow = options.onSlow;
    this.#leastBytes = (options.bytesPerSecond * options.windowMs) / 1000;
    this.#timer = setInterval(() => this.#look(), options.windowMs);
  }

  count(bytes: number): void {
    this.#bytes += bytes;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    if (this.#bytes < this.#leastBytes) this.#onSlow();
    this.#bytes = 0;
  }
}
