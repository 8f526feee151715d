import { RailheadError } from '../errors.ts';
import type { NewEvent } from '../events/kinds.ts';
import {
  type CandidateRow,
  candidatesOf,
  dismissCandidates,
  findCandidate,
  removeCandidates,
  saveCandidate,
} from '../store/machines.ts';
import type { Db } from '../store/store.ts';
import type { Hardware } from './decide-registration.ts';

/** Of one host: whoever sends more only replaces them. */
const MAX_CANDIDATES = 4;

export interface CandidateNote {
  host: string;
  /** The hash of its secret. */
  secret: string;
  address: string;
  nic?: string | undefined;
  hardware: Hardware;
  reason: string;
  alarms: boolean;
}

/** Machines that want to be a host and have not proved it. They change nothing of the host. */
export class Candidates {
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Notes one that has asked. The first of a host raises the alarm. */
  async note(
    db: Db,
    { host, secret, address, nic, hardware, reason, alarms }: CandidateNote,
  ): Promise<NewEvent[]> {
    if (!alarms) return [];
    const now = this.#now();
    const id = candidateId(host, secret);
    const known = await findCandidate(db, id);
    // An operator has decided about it.
    if (known !== undefined && known.dismissed_at !== null) return [];
    const others = (await candidatesOf(db, host)).filter((candidate) => candidate.id !== id);
    const surplus = others
      .toSorted((a, b) => a.last_seen - b.last_seen)
      .slice(0, Math.max(0, others.length + 1 - MAX_CANDIDATES));
    await removeCandidates(
      db,
      surplus.map((candidate) => candidate.id),
    );
    await saveCandidate(db, {
      id,
      host,
      secret,
      reason,
      address,
      nic: nic ?? null,
      uuid: hardware.uuid ?? null,
      serial: hardware.serial ?? null,
      first_seen: now,
      last_seen: now,
      dismissed_at: null,
    });
    if (known !== undefined || others.length > 0) return [];
    return [{ kind: 'agent.alarm', host, data: { address, reason, candidate: id } }];
  }

  /** The candidate of this host, for an operator who trusts it. */
  async take(db: Db, host: string, id: string): Promise<CandidateRow> {
    const found = await findCandidate(db, id);
    if (found !== undefined && found.host === host) return found;
    const ids = (await candidatesOf(db, host)).map((candidate) => candidate.id);
    throw new RailheadError('RH_NOT_FOUND', `${host} has no candidate "${id}".`, {
      hint: ids.length === 0 ? `No machine waits to be ${host}.` : `Its candidates: ${ids.join(', ')}.`,
    });
  }

  /** The alarm ends, and none of them raises it again. */
  async dismiss(db: Db, host: string): Promise<number> {
    const waiting = await candidatesOf(db, host);
    await dismissCandidates(db, host, this.#now());
    return waiting.length;
  }

  async clear(db: Db, host: string): Promise<void> {
    await removeCandidates(
      db,
      (await candidatesOf(db, host)).map((candidate) => candidate.id),
    );
  }
}

/** Short enough to type; of the secret's hash, so the same machine is the same candidate. */
function candidateId(host: string, secret: string): string {
  return `${host}-${secret.slice(0, 6)}`;
}
