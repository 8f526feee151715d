import { formatProblem, isError } from './document/problem.ts';
import { toRailheadError } from './errors.ts';
import type { EventLog } from './events/log.ts';
import type { InventoryKeeper } from './inventory/keeper.ts';

export interface Readiness {
  ready: boolean;
  /** What keeps it from serving. */
  reasons: Reason[];
  /** What is wrong without keeping it from serving. */
  notes: Reason[];
  revision: string | null;
}

export interface Reason {
  part: string;
  message: string;
  since?: string;
}

export interface ReadinessInput {
  events: Pick<EventLog, 'fault'>;
  inventory: Pick<InventoryKeeper, 'revision' | 'rejection'>;
  /** Protocols that don't listen: HTTP answers before HTTPS and TFTP do. */
  closed: readonly string[];
  /** Said by parts at start: a port that could not be had, an address that looks wrong. */
  startNotes: readonly Reason[];
  stopping: boolean;
}

const PROBLEMS_SHOWN = 5;

/** Can this server do its work, and if not, why not? */
export function readiness({ events, inventory, closed, startNotes, stopping }: ReadinessInput): Readiness {
  const reasons: Reason[] = [];
  const notes: Reason[] = [...startNotes];
  if (stopping) reasons.push({ part: 'server', message: 'It is stopping.' });
  for (const protocol of closed)
    reasons.push({ part: protocol, message: `${protocol.toUpperCase()} is not listening yet.` });
  if (events.fault !== undefined) {
    const { message, hint } = toRailheadError(events.fault);
    reasons.push({ part: 'store', message: hint === undefined ? message : `${message} ${hint}` });
  }
  const { rejection, revision } = inventory;
  if (rejection !== undefined) {
    const problems = rejection.problems.filter(isError).map(formatProblem);
    const more = problems.length > PROBLEMS_SHOWN ? ` … and ${problems.length - PROBLEMS_SHOWN} more` : '';
    const rest = revision === undefined ? 'there is none in force' : `revision ${revision} stays in force`;
    (revision === undefined ? reasons : notes).push({
      part: 'inventory',
      message: `The inventory on disk was refused; ${rest}: ${problems.slice(0, PROBLEMS_SHOWN).join('; ')}${more}`,
      since: new Date(rejection.since).toISOString(),
    });
  }
  return { ready: reasons.length === 0, reasons, notes, revision: revision ?? null };
}
