export interface StoreRecoveryOptions {
  /** What the last write failed with; `undefined` when it went well. */
  fault: () => unknown;
  /** Writes something, however little. */
  tryWrite: () => Promise<unknown>;
  /** Loads the inventory; fails when the store can't take it. */
  reload: () => Promise<void>;
  retryMs?: number;
}

const RETRY_MS = 2000;

/**
 * A store that refused a write (a full disk, mostly) is written to again and again until it takes it: then nobody
 * has to restart anything, and an edit of the inventory that could not be recorded is put in force after all.
 */
export class StoreRecovery {
  readonly #options: StoreRecoveryOptions;
  #timer: NodeJS.Timeout | undefined;
  #fault: unknown;
  #reloadIsDue = false;
  #isTrying = false;

  constructor(options: StoreRecoveryOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => void this.#tryAgain(), this.#options.retryMs ?? RETRY_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Why the store can't be written to; `undefined` when it can. */
  get fault(): unknown {
    return this.#options.fault() ?? this.#fault;
  }

  /** Loads the inventory; when the store refuses it now, once more when it doesn't. */
  async reload(): Promise<void> {
    try {
      await this.#options.reload();
      this.#reloadIsDue = false;
    } catch (error) {
      this.noteReloadFailure(error);
      throw error;
    }
  }

  noteReloadFailure(error: unknown): void {
    this.#fault = error;
    this.#reloadIsDue = true;
  }

  async #tryAgain(): Promise<void> {
    if (this.fault === undefined || this.#isTrying) return;
    this.#isTrying = true;
    // Kept here: the store's own memory of it also ends with a transaction that had nothing to write.
    this.#fault = this.fault;
    try {
      await this.#options.tryWrite();
      if (this.#reloadIsDue) await this.#options.reload();
      this.#reloadIsDue = false;
      this.#fault = undefined;
    } catch (error) {
      this.#fault = error;
    } finally {
      this.#isTrying = false;
    }
  }
}
