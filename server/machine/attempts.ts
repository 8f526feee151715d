import { createHash, randomBytes } from 'node:crypto';
import type { NewEvent } from '../events/kinds.ts';
import type { EventLog } from '../events/log.ts';
import type { HostSpec } from '../inventory/model.ts';
import { endFirstBoots, liveAgent } from '../store/agents.ts';
import {
  type AttemptRow,
  findAttempt,
  insertAttempt,
  liveAttempts,
  pruneAttempts,
  updateAttempt,
} from '../store/attempts.ts';
import { findHostRow, type HostRow, updateHostRow } from '../store/hosts.ts';
import type { Db, Store } from '../store/store.ts';
import type { HostRecord } from './host-record.ts';
import { initialState } from './host-state.ts';
import { factsOf, isFurther, type Stage, stateAt } from './stages.ts';

/** Bytes of the files that a machine boots from. */
export interface ImageSizes {
  kernel: number;
  initrd: number;
}

/** What a menu promises; kept with the attempt, so that it gets exactly that, whatever is edited meanwhile. */
export interface Offer {
  action: 'install' | 'run';
  /** Where the image is below `assets/`, such as `flatcar/stable/amd64-usr/4593.2.5`. */
  image: string;
  /** What its files had when they were offered: one that is different by then is not sent. */
  sizes: ImageSizes;
  kernelArguments: string[];
  /** A new beginning was ordered: what is on its disk goes. */
  wipe: boolean;
}

export interface Attempt {
  /** Names it in the store, and its beginning names it in events: the hash of its token. */
  id: string;
  host: string;
  offer: Offer;
  stage: Stage;
  stageAt: number;
  isOpen: boolean;
  /** The address that fetched its kernel. */
  openedFrom: string | undefined;
}

/** What else is known about a stage. */
export interface StageDetails {
  message?: string | undefined;
  /** Bytes that went to the host, and those of the whole file. */
  bytes?: number;
  of?: number;
}

export interface AttemptsOptions {
  store: Store;
  events: EventLog;
  now: () => number;
  /** The token that belongs to a seed: it is not kept, but made again. */
  tokenOf: (seed: string) => string;
}

type HostChanges = Parameters<typeof updateHostRow>[2];

/**
 * Boots under way. A menu only offers one: as long as its kernel is not fetched it is the same offer with the same
 * token, however often it is asked for. Fetching the kernel opens it, and that closes the one before.
 */
export class Attempts {
  readonly #options: AttemptsOptions;

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  /** The token for this offer: the pending one if it promises the same, else a new one. */
  async offer(host: HostSpec, offer: Offer): Promise<string> {
    const text = JSON.stringify(offer);
    const pending = await this.#pending(this.#options.store.db, host.name);
    if (pending?.offer === text) return this.#options.tokenOf(pending.seed);
    const seed = randomBytes(16).toString('hex');
    const token = this.#options.tokenOf(seed);
    const now = this.#options.now();
    await this.#options.events.transact(async (db) => {
      const stale = await this.#pending(db, host.name);
      if (stale !== undefined)
        await updateAttempt(db, stale.token, { closed_at: now, outcome: 'never opened' });
      await insertAttempt(db, {
        token: idOf(token),
        seed,
        host: host.name,
        action: offer.action,
        offer: text,
        created_at: now,
        opened_at: null,
        opened_from: null,
        stage: 'menu',
        stage_at: now,
        seen: '[]',
        overdue_at: null,
        closed_at: null,
        outcome: null,
      });
      await pruneAttempts(db, host.name);
      return [];
    });
    return token;
  }

  /** The attempt that this token belongs to; `undefined` for one that is closed or was never given out. */
  async find(token: string): Promise<Attempt | undefined> {
    if (!/^[\w-]{22}$/.test(token)) return undefined;
    return this.byId(idOf(token));
  }

  /** The attempt, as long as it is not closed. */
  async byId(id: string): Promise<Attempt | undefined> {
    const row = await findAttempt(this.#options.store.db, id);
    return row === undefined || row.closed_at !== null ? undefined : fromRow(row);
  }

  /** The host begins to fetch its kernel, to this address: from now on this is the boot it is in. */
  open(id: string, host: HostSpec, address: string): Promise<void> {
    return this.#advance(id, host, { address });
  }

  /**
   * The host has got to this stage, as we saw or it says. Each is news once, also when it comes late; only what is
   * further than all before moves the host on.
   */
  reach(id: string, host: HostSpec, stage: Stage, details: StageDetails = {}): Promise<void> {
    return this.#advance(id, host, { stage, details });
  }

  /** What is known about a host, as `decide` wants it. */
  async recordOf(host: string): Promise<HostRecord> {
    const { db } = this.#options.store;
    const row = await findHostRow(db, host);
    const open = (await liveAttempts(db, host)).find((attempt) => attempt.opened_at !== null);
    const record = toRecord(row, open);
    const agent = await liveAgent(db, host);
    return agent === undefined ? record : { ...record, agentSeenAt: agent.last_seen };
  }

  async #advance(
    id: string,
    host: HostSpec,
    step: { address: string } | { stage: Stage; details: StageDetails },
  ): Promise<void> {
    const now = this.#options.now();
    await this.#options.events.transact(async (db) => {
      const row = await findAttempt(db, id);
      if (row === undefined || row.closed_at !== null) return [];
      const before = await findHostRow(db, row.host);
      const changes: HostChanges = { last_seen: now };
      const events: NewEvent[] = [];
      if (row.opened_at === null) {
        const address = 'address' in step ? step.address : null;
        events.push(...(await this.#open(db, { ...row, opened_from: address }, before, changes, now)));
      }
      if ('stage' in step) events.push(...(await this.#note(db, row, step, changes, now)));
      // Its node may be Ready before its report of having joined is here.
      const isBehind = changes.state === 'joined' && before?.state === 'ready';
      // A held host stays held, whatever it does meanwhile.
      if (changes.state === undefined || changes.state === before?.state || isBehind || before?.hold_reason) {
        delete changes.state;
      } else {
        changes.state_since = now;
      }
      await updateHostRow(db, row.host, changes, { state: initialState(host), now });
      return events;
    });
  }

  async #open(
    db: Db,
    row: AttemptRow,
    before: HostRow | undefined,
    changes: HostChanges,
    now: number,
  ): Promise<NewEvent[]> {
    const { offer } = fromRow(row);
    await updateAttempt(db, row.token, { opened_at: now, opened_from: row.opened_from, stage_at: now });
    const closed = await this.#closeOlder(db, row, now);
    changes.failures = closed.failed ? (before?.failures ?? 0) + 1 : 0;
    changes.state = stateAt('menu', row.action);
    const opened: NewEvent = {
      kind: 'boot.attempt-opened',
      host: row.host,
      attempt: shortId(row.token),
      data: { action: offer.action, image: offer.image },
    };
    return [opened, ...closed.events];
  }

  async #note(
    db: Db,
    row: AttemptRow,
    { stage, details }: { stage: Stage; details: StageDetails },
    changes: HostChanges,
    now: number,
  ): Promise<NewEvent[]> {
    const seen = JSON.parse(row.seen) as Stage[];
    const moves = isFurther(stage, row.stage as Stage);
    // Failing again, after something else went well, is news once more.
    if (stage === 'failed' ? !moves : seen.includes(stage)) return [];
    // From then on it is the installed system that boots, through the same stages once more.
    const before = stage === 'installed' ? [] : seen;
    await updateAttempt(db, row.token, {
      seen: JSON.stringify([...new Set([...before, stage])]),
      ...(moves ? { stage, stage_at: now, overdue_at: null } : {}),
    });
    if (moves) changes.state = stateAt(stage, row.action);
    const { success, works } = factsOf(stage);
    if (success) changes.failures = 0;
    if (works) changes.ever_ready = 1;
    if (stage === 'installed')
      Object.assign(changes, { installed_at: now, reinstall_at: null, joined_at: null });
    // A host that runs from RAM has emptied its partition by then.
    const { action, wipe } = fromRow(row).offer;
    if (stage === 'ignition-done' && action === 'run' && wipe) {
      Object.assign(changes, { reinstall_at: null, joined_at: null });
    }
    if (stage === 'kubeadm-done') changes.joined_at = now;
    if (stage === 'provisioned') await endFirstBoots(db, row.host, now);
    const { message, bytes, of } = details;
    const data = {
      stage,
      ...(message === undefined ? {} : { message }),
      ...(bytes === undefined || of === undefined ? {} : { bytes, of }),
    };
    return [{ kind: 'boot.stage', host: row.host, attempt: shortId(row.token), data }];
  }

  async #pending(db: Db, host: string): Promise<AttemptRow | undefined> {
    return (await liveAttempts(db, host)).find((attempt) => attempt.opened_at === null);
  }

  /** `failed`: the one before got nowhere. */
  async #closeOlder(
    db: Db,
    opened: AttemptRow,
    now: number,
  ): Promise<{ failed: boolean; events: NewEvent[] }> {
    const result = { failed: false, events: [] as NewEvent[] };
    for (const older of await liveAttempts(db, opened.host)) {
      if (older.token === opened.token || older.opened_at === null) continue;
      const outcome = gotThere(older) ? 'done' : `given up after ${older.stage}`;
      result.failed ||= !gotThere(older);
      await updateAttempt(db, older.token, { closed_at: now, outcome });
      await endFirstBoots(db, older.host, now);
      result.events.push({
        kind: 'boot.attempt-closed',
        host: older.host,
        attempt: shortId(older.token),
        data: { outcome },
      });
    }
    return result;
  }
}

/** Something may have failed afterwards, such as kubeadm: that is no fault of the boot. */
function gotThere({ seen, stage }: AttemptRow): boolean {
  return [...(JSON.parse(seen) as Stage[]), stage as Stage].some((each) => factsOf(each).success);
}

/** An attempt that is open and has not got anywhere counts, if its host asks for a menu again: it has started anew. */
function toRecord(row: HostRow | undefined, open: AttemptRow | undefined): HostRecord {
  const isStuck = open !== undefined && !gotThere(open);
  const record: HostRecord = {
    everReady: row?.ever_ready === 1,
    failures: (row?.failures ?? 0) + (isStuck ? 1 : 0),
  };
  if (row?.installed_at) record.installedAt = row.installed_at;
  if (row?.reinstall_at) record.reinstallAt = row.reinstall_at;
  if (row?.hold_reason) record.hold = { reason: row.hold_reason, since: row.hold_since ?? 0 };
  if (open?.opened_at) record.lastAttemptAt = open.opened_at;
  return record;
}

function fromRow(row: AttemptRow): Attempt {
  return {
    id: row.token,
    host: row.host,
    offer: JSON.parse(row.offer) as Offer,
    stage: row.stage as Stage,
    stageAt: row.stage_at,
    isOpen: row.opened_at !== null,
    openedFrom: row.opened_from ?? undefined,
  };
}

/** What an attempt is known by: who has it can't tell the token. */
export function idOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** Names an attempt in events. */
export function shortId(id: string): string {
  return id.slice(0, 12);
}
