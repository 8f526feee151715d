import type { Generated } from 'kysely';

/** The tables, as Kysely sees them. Times are milliseconds since 1970; JSON is text, the same on both databases. */
export interface Database {
  meta: MetaTable;
  revisions: RevisionsTable;
  events: EventsTable;
  admin_tokens: AdminTokensTable;
  hosts: HostsTable;
  attempts: AttemptsTable;
  sightings: SightingsTable;
}

export interface MetaTable {
  key: string;
  value: string;
}

export interface RevisionsTable {
  id: Generated<number>;
  hash: string;
  created_at: number;
  /** The inventory as gzipped JSON. */
  document: Buffer;
}

export interface EventsTable {
  id: Generated<number>;
  at: number;
  kind: string;
  host: string | null;
  attempt: string | null;
  data: string;
}

export interface AdminTokensTable {
  name: string;
  hash: string;
  created_at: number;
}

export interface HostsTable {
  name: string;
  state: string;
  state_since: number;
  last_seen: number | null;
  installed_at: number | null;
  reinstall_at: number | null;
  hold_reason: string | null;
  hold_since: number | null;
  /** 0 or 1 */
  ever_ready: number;
  failures: number;
}

export interface AttemptsTable {
  token: string;
  host: string;
  action: string;
  /** What was promised, as JSON: the same offer keeps its token. */
  offer: string;
  created_at: number;
  opened_at: number | null;
  /** The furthest stage. */
  stage: string;
  stage_at: number;
  /** Every stage that was seen, as a JSON list. */
  seen: string;
  /** When it was found to be late. */
  overdue_at: number | null;
  closed_at: number | null;
  outcome: string | null;
}

export interface SightingsTable {
  mac: string;
  uuid: string | null;
  serial: string | null;
  vendor: string | null;
  address: string | null;
  first_seen: number;
  last_seen: number;
}
