import { isError, type Problem } from '../document/problem.ts';
import { RailheadError, toRailheadError } from '../errors.ts';
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
    const stored = await revisionInForce(this.#options.store.db);
    if (stored !== undefined) {
      this.#revision = { hash: stored.hash, document: stored.document };
      this.#index = new InventoryIndex(openRevision(stored.document));
    }
    await this.#load();
    if (!this.#options.watch) return;
    this.#watcher = new FolderWatcher(
      this.#options.dir,
      () => void this.reload().catch(this.#options.onFault),
    );
    await this.#watcher.start();
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
      } while (this.#again);
    })().finally(() => {
      this.#reloading = undefined;
    });
    return this.#reloading;
  }

  async #load(): Promise<void> {
    const { dir, shownAs } = this.#options;
    const { signal } = this.#stopping;
    let outcome: LoadOutcome;
    let before: string;
    let tries = 0;
    do {
      before = await folderSignature(dir);
      try {
        outcome = await loadInThread({ dir, shownAs, previous: this.#revision?.document }, signal);
      } catch (error) {
        if (signal.aborted) return;
        outcome = { accepted: false, problems: [this.#asProblem(error)] };
      }
      // Files that changed while they were read may have been seen half written: look again.
    } while (before !== (await folderSignature(dir)) && ++tries < 10);
    await (outcome.accepted ? this.#accept(outcome) : this.#reject(outcome.problems));
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
    if (!(error instanceof RailheadError)) this.#options.onFault(error);
    const { message, hint } = toRailheadError(error);
    const text = hint === undefined ? message : `${message} ${hint}`;
    return { severity: 'error', file: this.#options.shownAs, line: 0, col: 0, subject: '', message: text };
  }
}
