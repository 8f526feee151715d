import type { Generated } from 'kysely';

/** The tables, as Kysely sees them. Times are milliseconds since 1970; JSON is text, the same on both databases. */
export interface Database {
  meta: MetaTable;
  revisions: RevisionsTable;
  events: EventsTable;
  admin_tokens: AdminTokensTable;
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
