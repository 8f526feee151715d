import type { HostSpec } from '../inventory/model.ts';
import { type AttemptRow, liveAttempts, openAttempts } from '../store/attempts.ts';
import { findHostRow, type HostRow, listHostRows } from '../store/hosts.ts';
import type { Db } from '../store/store.ts';
import { type HostState, initialState } from './host-state.ts';
import { factsOf, type Stage } from './stages.ts';

/** What is to be seen of a host now. */
export interface Observation {
  state: HostState;
  since: number | null;
  lastSeen: number | null;
  /** The last stage of the boot that is under way. */
  stage: Stage | null;
  /** What its boot waits for, and since when; null when none is under way. */
  waiting: Waiting | null;
  /** The same in words, if it is longer than it should be; null when all goes well. */
  overdue: string | null;
  hold: string | null;
}

export interface Waiting {
  /** After which stage. */
  stage: Stage;
  for: string;
  since: number;
  seconds: number;
  /** Seconds that it may take. */
  deadline: number;
  isLate: boolean;
}

/** For one host. */
export async function observeHost(db: Db, host: HostSpec, now: number): Promise<Observation> {
  const open = (await liveAttempts(db, host.name)).find((attempt) => attempt.opened_at !== null);
  return toObservation(host, await findHostRow(db, host.name), open, now);
}

/** For all of them, in two queries. */
export async function observeHosts(db: Db, hosts: readonly HostSpec[], now: number): Promise<Observation[]> {
  const rows = new Map((await listHostRows(db)).map((row) => [row.name, row]));
  const open = new Map((await openAttempts(db)).map((attempt) => [attempt.host, attempt]));
  return hosts.map((host) => toObservation(host, rows.get(host.name), open.get(host.name), now));
}

function toObservation(
  host: HostSpec,
  row: HostRow | undefined,
  open: AttemptRow | undefined,
  now: number,
): Observation {
  const stage = (open?.stage ?? null) as Stage | null;
  const waiting = open === undefined ? null : waitingOf(open, now);
  return {
    state: (row?.state as HostState | undefined) ?? initialState(host),
    since: row?.state_since ?? null,
    lastSeen: row?.last_seen ?? null,
    stage,
    waiting,
    overdue: waiting?.isLate ? describeWaiting(waiting) : null,
    hold: row?.hold_reason ?? null,
  };
}

/** What an open attempt waits for: nothing, once it has got where it should or a person is needed. */
export function waitingOf({ stage, stage_at: since }: AttemptRow, now: number): Waiting | null {
  const { success, deadline, next } = factsOf(stage as Stage);
  if (success || stage === 'failed') return null;
  const seconds = Math.round((now - since) / 1000);
  return { stage: stage as Stage, for: next, since, seconds, deadline, isLate: seconds > deadline };
}

export function describeWaiting({ for: what, since, deadline, seconds }: Waiting): string {
  const start = new Date(since).toISOString().slice(0, 19);
  return `waiting for ${what} since ${start}Z (${seconds} s; expected within ${deadline} s)`;
}
