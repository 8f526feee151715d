import type { HostSpec } from '../inventory/model.ts';
import { type AttemptRow, liveAttempts, openAttempts } from '../store/attempts.ts';
import { findHostRow, type HostRow, listHostRows } from '../store/hosts.ts';
import {
  allCandidates,
  type CandidateRow,
  candidatesOf,
  liveMachine,
  liveMachines,
  type MachineRow,
  type WindowRow,
} from '../store/machines.ts';
import type { Db } from '../store/store.ts';
import { type HostState, initialState } from './host-state.ts';
import { factsOf, type Stage } from './stages.ts';
import { currentWindow } from './windows.ts';

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
  /** The machine that it is, since it has registered. */
  identity: IdentityView | null;
  /** Its provisioning window, while one is open. */
  window: { reason: string; openedAt: number; isUsed: boolean } | null;
  /** Machines that want to be it. */
  candidates: CandidateView[];
}

export interface IdentityView {
  generation: number;
  registeredAt: number;
  address: string | null;
  versions: Record<string, string>;
}

export interface CandidateView {
  id: string;
  reason: string;
  address: string;
  nic: string | null;
  uuid: string | null;
  serial: string | null;
  firstSeen: number;
  lastSeen: number;
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
  const machine = await liveMachine(db, host.name);
  return toObservation(
    host,
    {
      row: await findHostRow(db, host.name),
      open: bootOf(await liveAttempts(db, host.name), machine),
      machine,
      window: await currentWindow(db, host.name, (at) => now - at),
      candidates: await candidatesOf(db, host.name),
    },
    now,
  );
}

/** For all of them, in a few queries. */
export async function observeHosts(db: Db, hosts: readonly HostSpec[], now: number): Promise<Observation[]> {
  const rows = new Map((await listHostRows(db)).map((row) => [row.name, row]));
  const open = Map.groupBy(await openAttempts(db), ({ host }) => host);
  const machines = new Map((await liveMachines(db)).map((machine) => [machine.host, machine]));
  const candidates = Map.groupBy(await allCandidates(db), ({ host }) => host);
  return hosts.map(({ name }, index) =>
    toObservation(
      hosts[index]!,
      {
        row: rows.get(name),
        open: bootOf(open.get(name) ?? [], machines.get(name)),
        machine: machines.get(name),
        window: undefined,
        candidates: candidates.get(name) ?? [],
      },
      now,
    ),
  );
}

/** The boot that a host is in: that of its machine, else the one that came furthest. */
function bootOf(attempts: readonly AttemptRow[], machine: MachineRow | undefined): AttemptRow | undefined {
  const open = attempts.filter((attempt) => attempt.opened_at !== null);
  const own = open.find((attempt) => attempt.token === machine?.attempt);
  const isPastGate = ({ gate_at: gateAt }: AttemptRow) => Number(gateAt !== null);
  const order = (a: AttemptRow, b: AttemptRow) =>
    isPastGate(b) - isPastGate(a) || (b.opened_at ?? 0) - (a.opened_at ?? 0);
  return own ?? open.toSorted(order)[0];
}

function toObservation(
  host: HostSpec,
  { row, open, machine, window, candidates }: Stored,
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
    identity: machine === undefined ? null : identityOf(machine),
    window: window === undefined ? null : windowOf(window),
    candidates: candidates.map(candidateOf),
  };
}

function identityOf({ generation, registered_at, address, versions }: MachineRow): IdentityView {
  return { generation, registeredAt: registered_at, address, versions: JSON.parse(versions) };
}

function windowOf({ reason, opened_at: openedAt, machine }: WindowRow) {
  return { reason, openedAt, isUsed: machine !== null };
}

function candidateOf(row: CandidateRow): CandidateView {
  const { id, reason, address, nic, uuid, serial, first_seen: firstSeen, last_seen: lastSeen } = row;
  return { id, reason, address, nic, uuid, serial, firstSeen, lastSeen };
}

/** What the store has about a host. */
interface Stored {
  row: HostRow | undefined;
  open: AttemptRow | undefined;
  machine: MachineRow | undefined;
  window: WindowRow | undefined;
  candidates: readonly CandidateRow[];
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
