import { isError, type Problem } from '../document/problem.ts';
import { toRailheadError } from '../errors.ts';
import type { NewEvent } from '../events/kinds.ts';
import type { EventLog } from '../events/log.ts';
import { putInForce, revisionInForce } from '../store/revisions.ts';
import type { Store } from '../store/store.ts';
import { EMPTY_INVENTORY } from './diff.ts';
import { InventoryIndex } from './index.ts';
import { type LoadOutcome, loadInThread } from './load-in-thread.ts';
import { openRevision, type Revision } from './revision.ts';
import { FolderWatcher, folderSignature } from './watch.ts';

export interface KeeperOptions {
  store: Store;
  events: EventLog;
  dir: string;
  /** The folder's name in messages. */
  shownAs: string;
  watch: boolean;
  now: () => number;
  /** How a folder is loaded: away from this thread, which has machines to serve. */
  load?: typeof loadInThread;
  /** For what nobody waits for: a reload that failed for a reason that is not in the files. */
  onFault: (error: unknown) => void;
}

/** Why the files on disk are not what is in force. */
export interface Rejection {
  since: number;
  problems: Problem[];
}

/** How many problems an event carries; `railhead check` shows all. */
const PROBLEMS_IN_EVENT = 20;
/** Files that never stop changing are taken as they are; the watcher sees to the next change. */
const MAX_TRIES = 10;

/**
 * Keeps the inventory in force: loads it, watches it, and swaps in a new revision as a whole.
 * A bad edit changes nothing but `rejection`.
 */
export class InventoryKeeper {
  readonly #options: KeeperOptions;
  #index = new InventoryIndex(EMPTY_INVENTORY);
  #revision: Revision | undefined;
  #warnings: Problem[] = [];
  #rejection: Rejection | undefined;
  #watcher: FolderWatcher | undefined;
  #reloading: Promise<void> | undefined;
  #again = false;
  readonly #stopping = new AbortController();

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { store, dir, watch, onFault } = this.#options;
    const stored = await revisionInForce(store.db);
    if (stored !== undefined) {
      this.#revision = { hash: stored.hash, document: stored.document };
      this.#index = new InventoryIndex(openRevision(stored.document));
    }
    if (watch) {
      // Before the first load, so that no edit falls between the two.
      this.#watcher = new FolderWatcher(dir, () => void this.reload().catch(onFault));
      await this.#watcher.start();
    }
    await this.reload().catch((error: unknown) => {
      this.#watcher?.stop();
      throw error;
    });
  }

  async stop(): Promise<void> {
    this.#watcher?.stop();
    this.#stopping.abort();
    await this.#reloading?.catch(() => {});
  }

  /** What is in force. */
  get index(): InventoryIndex {
    return this.#index;
  }

  /** The hash of the revision in force; `undefined` until there has ever been a good inventory. */
  get revision(): string | undefined {
    return this.#revision?.hash;
  }

  /** Warnings about what is in force. */
  get warnings(): readonly Problem[] {
    return this.#warnings;
  }

  get rejection(): Rejection | undefined {
    return this.#rejection;
  }

  /** Takes what is on disk now. One at a time: a call during a reload makes one more after it. */
  reload(): Promise<void> {
    if (this.#reloading !== undefined) {
      this.#again = true;
      return this.#reloading;
    }
    this.#reloading = (async () => {
      do {
        this.#again = false;
        await this.#load();
      } while (this.#again && !this.#stopping.signal.aborted);
    })().finally(() => {
      this.#reloading = undefined;
    });
    return this.#reloading;
  }

  async #load(): Promise<void> {
    const outcome = await this.#read();
    // A store that is about to be closed must not be written to any more.
    if (outcome === undefined || this.#stopping.signal.aborted) return;
    try {
      await (outcome.accepted ? this.#accept(outcome) : this.#reject(outcome.problems));
    } catch (error) {
      // The store failed. What is in force stays so, and whoever asks is told why the files are not.
      const { message } = toRailheadError(error);
      const problem = this.#problem(`The inventory could not be put in force: ${message}`);
      this.#rejection = { since: this.#rejection?.since ?? this.#options.now(), problems: [problem] };
      throw error;
    }
  }

  /** `undefined` when it is told to stop meanwhile. */
  async #read(): Promise<LoadOutcome | undefined> {
    const { dir, shownAs, load = loadInThread } = this.#options;
    const { signal } = this.#stopping;
    for (let tries = 1; ; tries++) {
      const before = await folderSignature(dir);
      const previous = this.#revision?.document;
      const outcome = await load({ dir, shownAs, previous }, signal).catch((error: unknown) =>
        signal.aborted ? undefined : { accepted: false as const, problems: [this.#asProblem(error)] },
      );
      // Files that changed while they were read may have been seen half written: look again.
      const isSettled = before === (await folderSignature(dir));
      if (outcome === undefined || isSettled || tries === MAX_TRIES) return outcome;
    }
  }

  async #accept(outcome: Extract<LoadOutcome, { accepted: true }>): Promise<void> {
    const { events, now } = this.#options;
    const { index, revision, problems, changes } = outcome;
    const previous = this.#revision?.hash;
    if (revision.hash !== previous) {
      const data = {
        revision: revision.hash,
        ...(previous === undefined ? {} : { previous }),
        hosts: index.inventory.hosts.length,
        ...changes,
        warnings: problems.length,
      };
      await events.transact(async (db) => {
        await putInForce(db, { ...revision, createdAt: now() });
        return [{ kind: 'inventory.activated', data }];
      });
    } else if (this.#rejection !== undefined) {
      await events.append({ kind: 'inventory.recovered', data: { revision: revision.hash } });
    }
    this.#index = index;
    this.#revision = revision;
    this.#warnings = problems;
    this.#rejection = undefined;
  }

  async #reject(problems: Problem[]): Promise<void> {
    const { events, now } = this.#options;
    const isNews = JSON.stringify(problems) !== JSON.stringify(this.#rejection?.problems);
    this.#rejection = { since: this.#rejection?.since ?? now(), problems };
    if (!isNews) return;
    const errors = problems.filter(isError);
    const event: NewEvent = {
      kind: 'inventory.rejected',
      data: {
        ...(this.#revision === undefined ? {} : { inForce: this.#revision.hash }),
        errors: errors.length,
        problems: errors.slice(0, PROBLEMS_IN_EVENT).map(({ file, line, col, subject, message }) => ({
          file,
          line,
          col,
          message: subject === '' ? message : `${subject}: ${message}`,
        })),
      },
    };
    await events.append(event);
  }

  #asProblem(error: unknown): Problem {
    const { code, message, hint } = toRailheadError(error);
    if (code === 'RH_INTERNAL') this.#options.onFault(error);
    return this.#problem(hint === undefined ? message : `${message} ${hint}`);
  }

  /** About the inventory as a whole. */
  #problem(message: string): Problem {
    return { severity: 'error', file: this.#options.shownAs, line: 0, col: 0, subject: '', message };
  }
}
