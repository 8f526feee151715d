import { createHash, randomBytes } from 'node:crypto';
import type { NewEvent } from '../events/kinds.ts';
import type { EventLog } from '../events/log.ts';
import type { HostSpec } from '../inventory/model.ts';
import {
  type AttemptRow,
  findAttempt,
  insertAttempt,
  liveAttempts,
  pruneAttempts,
  updateAttempt,
} from '../store/attempts.ts';
import { endFirstBoots } from '../store/first-boots.ts';
import { findHostRow, type HostRow, updateHostRow } from '../store/hosts.ts';
import { liveMachine } from '../store/machines.ts';
import type { Db, Store } from '../store/store.ts';
import type { HostRecord } from './host-record.ts';
import { initialState } from './host-state.ts';
import type { Liveness } from './liveness.ts';
import { factsOf, isFurther, type Stage, stateAt } from './stages.ts';
import { startWindowIfNew } from './windows.ts';

/** Bytes of the files that a machine boots from. */
export interface ImageSizes {
  kernel: number;
  initrd: number;
}

/** What a menu promises; kept with the attempt, so that it gets exactly that, whatever is edited meanwhile. */
export interface Offer {
  /** `local`: it boots from its own disk, and nothing was offered. */
  action: 'install' | 'run' | 'local';
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
  /** The address that it was offered to. */
  openedFrom: string | undefined;
  /** It got its configuration over TLS. */
  isPastGate: boolean;
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
  /** Counts milliseconds and never jumps. */
  clock: () => number;
  /** The token that belongs to a seed: it is not kept, but made again. */
  tokenOf: (seed: string) => string;
  liveness: Liveness;
  /** A host has joined its cluster: what follows from that is part of the same transaction. */
  onJoined: (db: Db, host: string) => Promise<void>;
}

type HostChanges = Parameters<typeof updateHostRow>[2];

/** Boots of one host that may be under way at the same time, and offers that nobody has taken yet. */
const MAX_OPEN = 4;
const MAX_PENDING = 8;
/** Boots whose progress is remembered. */
const MAX_REMEMBERED = 10_000;

/**
 * Boots under way. A menu only offers one: as long as its kernel is not fetched it is the same offer with the same
 * token, however often the same address asks for it. Fetching the kernel opens it. That ends no other boot of the host,
 * since anybody can do it; the first one that registers ends the others.
 */
export class Attempts {
  readonly #options: AttemptsOptions;

  /** When each boot got further, by `clock`. */
  readonly #progressAt = new Map<string, number>();

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  /** The token for this offer: the pending one of this address if it promises the same, else a new one. */
  async offer(host: HostSpec, offer: Offer, address = ''): Promise<string> {
    const text = JSON.stringify(offer);
    const isOf = (attempt: AttemptRow) => attempt.opened_at === null && attempt.offered_to === address;
    const pending = (await liveAttempts(this.#options.store.db, host.name)).find(isOf);
    if (pending?.offer === text) return this.#options.tokenOf(pending.seed);
    const seed = randomBytes(16).toString('hex');
    const token = this.#options.tokenOf(seed);
    const now = this.#options.now();
    await this.#options.events.transact(async (db) => {
      const offered = (await liveAttempts(db, host.name)).filter(
        ({ opened_at: openedAt }) => openedAt === null,
      );
      const surplus = offered.slice(0, Math.max(0, offered.length + 1 - MAX_PENDING));
      for (const stale of new Set([...offered.filter(isOf), ...surplus])) {
        await updateAttempt(db, stale.token, { closed_at: now, outcome: 'never opened' });
      }
      await insertAttempt(db, {
        token: idOf(token),
        seed,
        host: host.name,
        action: offer.action,
        offer: text,
        created_at: now,
        offered_to: address,
        opened_at: null,
        opened_from: null,
        own_nic: 0,
        gate_at: null,
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

  /** How long a boot has made no progress: by a clock that nobody sets, if this server has seen the progress. */
  idleMs({ id, stageAt }: Pick<Attempt, 'id' | 'stageAt'>): number {
    const { clock, now } = this.#options;
    const seenAt = this.#progressAt.get(id);
    return seenAt === undefined ? Math.max(0, now() - stageAt) : clock() - seenAt;
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

  /** A machine begins to fetch its kernel, at this address. */
  open(id: string, host: HostSpec, from: { address: string; isOwnNic: boolean }): Promise<void> {
    return this.#advance(id, host, { from });
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
    const machine = await liveMachine(db, host);
    const unregistered = (await liveAttempts(db, host)).filter(({ token }) => token !== machine?.attempt);
    const record = toRecord(row, unregistered);
    if (machine === undefined || machine.rebooting_at !== null) return record;
    return { ...record, isRunning: this.#options.liveness.isAlive(machine.id) };
  }

  #noteProgress(id: string): void {
    this.#progressAt.delete(id);
    this.#progressAt.set(id, this.#options.clock());
    if (this.#progressAt.size > MAX_REMEMBERED)
      this.#progressAt.delete(this.#progressAt.keys().next().value!);
  }

  async #advance(
    id: string,
    host: HostSpec,
    step: { from: { address: string; isOwnNic: boolean } } | { stage: Stage; details: StageDetails },
  ): Promise<void> {
    const now = this.#options.now();
    this.#noteProgress(id);
    await this.#options.events.transact(async (db) => {
      const row = await findAttempt(db, id);
      if (row === undefined || row.closed_at !== null) return [];
      const before = await findHostRow(db, row.host);
      const changes: HostChanges = { last_seen: now };
      const events: NewEvent[] = [];
      if (row.opened_at === null) {
        const from = 'from' in step ? step.from : { address: row.offered_to ?? '', isOwnNic: false };
        const opened = await this.#open(db, row, from, before, changes, now);
        if (opened === undefined) return [];
        events.push(...opened);
      }
      if ('stage' in step) events.push(...(await this.#note(db, row, step, changes, now)));
      if (!(await this.#tellsOfHost(db, row, 'stage' in step ? step.stage : 'menu'))) delete changes.state;
      // Its node may be Ready before its report of having joined is here.
      const isBehind = changes.state === 'joined' && before?.state === 'ready';
      // A host that was held before it ran stays held, whatever it does meanwhile.
      const isHeld = before?.state === 'quarantined';
      if (changes.state === undefined || changes.state === before?.state || isBehind || isHeld) {
        delete changes.state;
      } else {
        changes.state_since = now;
      }
      await updateHostRow(db, row.host, changes, { state: initialState(host), now });
      return events;
    });
  }

  /** `undefined` when there are too many boots of this host, and none of them may end for this one. */
  async #open(
    db: Db,
    row: AttemptRow,
    { address, isOwnNic }: { address: string; isOwnNic: boolean },
    before: HostRow | undefined,
    changes: HostChanges,
    now: number,
  ): Promise<NewEvent[] | undefined> {
    // The boot of the machine that has registered ends when it registers again, not when somebody opens another.
    const own = (await liveMachine(db, row.host))?.attempt;
    const open = (await liveAttempts(db, row.host)).filter(
      (attempt) => attempt.opened_at !== null && attempt.token !== own,
    );
    const replaced = replacedBy(open, { address, isOwnNic });
    if (replaced === 'none may end') return undefined;
    const { offer } = fromRow(row);
    const events: NewEvent[] = [
      {
        kind: 'boot.attempt-opened',
        host: row.host,
        attempt: shortId(row.token),
        data: { action: offer.action as 'install' | 'run', image: offer.image },
      },
    ];
    for (const older of replaced) {
      const outcome = gotThere(older) ? 'done' : `given up after ${older.stage}`;
      await updateAttempt(db, older.token, { closed_at: now, outcome });
      // Without its configuration it may have been anybody's.
      if (!gotThere(older) && older.gate_at !== null) changes.failures = (before?.failures ?? 0) + 1;
      const about = { host: older.host, attempt: shortId(older.token) };
      events.push({ kind: 'boot.attempt-closed', ...about, data: { outcome } });
    }
    const opened = { opened_at: now, opened_from: address, own_nic: isOwnNic ? 1 : 0, stage_at: now };
    await updateAttempt(db, row.token, opened);
    await this.#startWindowIfNew(db, row.host, now);
    changes.state = stateAt('menu', row.action);
    return events;
  }

  /** Whether what this boot does is what the host does: anybody can open a boot of a host that has an identity. */
  async #tellsOfHost(db: Db, row: AttemptRow, stage: Stage): Promise<boolean> {
    const machine = await liveMachine(db, row.host);
    if (machine === undefined || machine.attempt === row.token) return true;
    const isPastGate = row.gate_at !== null || stage === 'config-sent';
    return isPastGate && stage !== 'failed';
  }

  #startWindowIfNew(db: Db, host: string, now: number): Promise<void> {
    return startWindowIfNew(db, host, now, (at) => this.#options.liveness.ageOf(at, now));
  }

  async #note(
    db: Db,
    row: AttemptRow,
    { stage, details }: { stage: Stage; details: StageDetails },
    changes: HostChanges,
    now: number,
  ): Promise<NewEvent[]> {
    // The first boot from a disk may come days after the installer opened the window.
    if (stage === 'config-sent') await this.#startWindowIfNew(db, row.host, now);
    const seen = JSON.parse(row.seen) as Stage[];
    const moves = isFurther(stage, row.stage as Stage);
    // Failing again, after something else went well, is news once more.
    if (stage === 'failed' ? !moves : seen.includes(stage)) return [];
    // From then on it is the installed system that boots, through the same stages once more.
    const before = stage === 'installed' ? [] : seen;
    await updateAttempt(db, row.token, {
      seen: JSON.stringify([...new Set([...before, stage])]),
      ...(moves ? { stage, stage_at: now, overdue_at: null } : {}),
      ...(stage === 'config-sent' && row.gate_at === null ? { gate_at: now } : {}),
    });
    if (moves) changes.state = stateAt(stage, row.action);
    const { success, works } = factsOf(stage);
    if (success) changes.failures = 0;
    if (works) changes.ever_ready = 1;
    // The wipe of a host that runs from RAM ends when the new identity registers.
    if (stage === 'installed') Object.assign(changes, { installed_at: now, reinstall_at: null });
    if (stage === 'kubeadm-done') {
      changes.joined_at = now;
      await this.#options.onJoined(db, row.host);
    }
    if (stage === 'provisioned') await endFirstBoots(db, row.host, now);
    const { message, bytes, of } = details;
    const data = {
      stage,
      ...(message === undefined ? {} : { message }),
      ...(bytes === undefined || of === undefined ? {} : { bytes, of }),
    };
    return [{ kind: 'boot.stage', host: row.host, attempt: shortId(row.token), data }];
  }
}

/**
 * Which boots end when another one opens: that of the same address, whose machine has started again; and, beyond the
 * limit, the oldest one, first of those without a configuration. None from a NIC of the host ends for another machine's.
 */
function replacedBy(
  open: readonly AttemptRow[],
  { address, isOwnNic }: { address: string; isOwnNic: boolean },
): AttemptRow[] | 'none may end' {
  const same = open.filter((attempt) => attempt.opened_from === address);
  if (same.length > 0 || open.length < MAX_OPEN) return same;
  const rank = ({ own_nic, gate_at }: AttemptRow) => own_nic * 2 + (gate_at === null ? 0 : 1);
  const [first] = open.toSorted((a, b) => rank(a) - rank(b) || (a.opened_at ?? 0) - (b.opened_at ?? 0));
  return first === undefined || (first.own_nic === 1 && !isOwnNic) ? 'none may end' : [first];
}

/** Something may have failed afterwards, such as kubeadm: that is no fault of the boot. */
function gotThere({ seen, stage }: AttemptRow): boolean {
  return [...(JSON.parse(seen) as Stage[]), stage as Stage].some((each) => factsOf(each).success);
}

/**
 * A boot that got its configuration and nothing more counts as failed, if its host asks for a menu again. Without its
 * configuration it may have been anybody's.
 */
function toRecord(row: HostRow | undefined, live: readonly AttemptRow[]): HostRecord {
  const stuck = live.filter((attempt) => attempt.gate_at !== null && !gotThere(attempt));
  const record: HostRecord = {
    everReady: row?.ever_ready === 1,
    failures: (row?.failures ?? 0) + stuck.length,
  };
  if (row?.installed_at) record.installedAt = row.installed_at;
  if (row?.reinstall_at) record.reinstallAt = row.reinstall_at;
  if (row?.hold_reason) record.hold = { reason: row.hold_reason, since: row.hold_since ?? 0 };
  const last = stuck.at(-1)?.opened_at;
  if (last) record.lastAttemptAt = last;
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
    openedFrom: row.offered_to || (row.opened_from ?? undefined),
    isPastGate: row.gate_at !== null,
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
