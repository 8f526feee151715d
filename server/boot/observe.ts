import type { HostSpec } from '../inventory/model.ts';
import { type HostState, initialState } from '../lifecycle/host-state.ts';
import { type AttemptRow, liveAttempts, openAttempts } from '../store/attempts.ts';
import { findHostRow, type HostRow, listHostRows } from '../store/hosts.ts';
import type { Db } from '../store/store.ts';
import { factsOf, type Stage } from './stages.ts';

/** What is to be seen of a host now. */
export interface Observation {
  state: HostState;
  since: number | null;
  lastSeen: number | null;
  /** The last stage of the boot that is under way. */
  stage: Stage | null;
  /** What it waits for longer than it should, in words; null when all goes well. */
  overdue: string | null;
  hold: string | null;
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
  return {
    state: (row?.state as HostState | undefined) ?? initialState(host),
    since: row?.state_since ?? null,
    lastSeen: row?.last_seen ?? null,
    stage,
    overdue: open === undefined ? null : overdue(open, now),
    hold: row?.hold_reason ?? null,
  };
}

/** "Waiting for X since T", once that is longer than it should take. */
function overdue({ stage, stage_at: since }: AttemptRow, now: number): string | null {
  const facts = factsOf(stage as Stage);
  const seconds = Math.round((now - since) / 1000);
  if (facts.success || stage === 'failed' || seconds <= facts.deadline) return null;
  return `nothing heard since ${stage}, ${seconds} s ago (expected within ${facts.deadline} s)`;
}
