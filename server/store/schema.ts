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
  contents: ContentsTable;
  content_names: ContentNamesTable;
  frozen_configs: FrozenConfigsTable;
  first_boots: FirstBootsTable;
  machines: MachinesTable;
  windows: WindowsTable;
  candidates: CandidatesTable;
  clusters: ClustersTable;
  init_claims: InitClaimsTable;
  joins: JoinsTable;
  bootstrap_tokens: BootstrapTokensTable;
  nodes: NodesTable;
  pipeline_clusters: PipelineClustersTable;
  pipeline_steps: PipelineStepsTable;
  pipeline_runs: PipelineRunsTable;
  pipeline_logs: PipelineLogsTable;
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
  /** Since when it is a member of its cluster. */
  joined_at: number | null;
  failures: number;
}

export interface AttemptsTable {
  /** The hash of its token. */
  token: string;
  /** What its token is derived from. */
  seed: string;
  host: string;
  action: string;
  /** What was promised, as JSON: the same offer keeps its token. */
  offer: string;
  created_at: number;
  /** The address that asked for its menu. */
  offered_to: string | null;
  opened_at: number | null;
  /** The address that fetched its kernel. */
  opened_from: string | null;
  /** 0 or 1: that address was on a NIC of the host. */
  own_nic: number;
  /** When it got its configuration over TLS. */
  gate_at: number | null;
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

export interface FrozenConfigsTable {
  /** The hash of the attempt's token, here and below. */
  attempt: string;
  host: string;
  /** As Ignition writes it: `sha512-…`. */
  hash: string;
  sealed: Buffer;
  created_at: number;
}

export interface FirstBootsTable {
  /** The hash of the token. */
  token: string;
  host: string;
  attempt: string;
  created_at: number;
  ended_at: number | null;
}

/** One identity of a host. */
export interface MachinesTable {
  id: Generated<number>;
  host: string;
  generation: number;
  /** The hash of the secret that it has made. */
  secret: string;
  /** The hash of the token that it shows. */
  token: string;
  /** What its firmware says, when it registered for the first time. */
  uuid: string | null;
  serial: string | null;
  /** Of the boot that it is in. */
  boot_id: string | null;
  attempt: string | null;
  address: string | null;
  registered_at: number;
  /** When it registered in this boot. */
  booted_at: number;
  last_seen: number;
  /** When it said that it goes down, in this boot. */
  rebooting_at: number | null;
  /** What it runs, as JSON: os, kubernetes, containerd. */
  versions: string;
  revoked_at: number | null;
}

/** A time in which a host may become an identity and be given cluster-wide secrets. */
export interface WindowsTable {
  id: Generated<number>;
  host: string;
  /** first boot, reinstall, trust, boot */
  reason: string;
  opened_at: number;
  /** The identity that it belongs to; null until one registers. */
  machine: number | null;
  closed_at: number | null;
  outcome: string | null;
}

/** A machine that wants to be a host, and has not proved it. */
export interface CandidatesTable {
  id: string;
  host: string;
  /** The hash of its secret. */
  secret: string;
  reason: string;
  address: string;
  nic: string | null;
  uuid: string | null;
  serial: string | null;
  first_seen: number;
  last_seen: number;
  /** When an operator decided against it. */
  dismissed_at: number | null;
}

/** Files by what is in them. */
export interface ContentsTable {
  sha256: string;
  size: number;
  added_at: number;
  /** Who vouches for these bytes, in words. */
  verified_how: string;
}

/** Where contents are found below the assets folder. */
export interface ContentNamesTable {
  name: string;
  sha256: string;
  size: number;
  /** Where it came from: a URL, or the file that was imported. */
  origin: string;
  added_at: number;
}

export interface ClustersTable {
  name: string;
  /** Its secrets. */
  sealed: Buffer;
  created_at: number;
  /** When its API answered for the first time. */
  api_seen_at: number | null;
}

/** Who may run `kubeadm init`. */
export interface InitClaimsTable {
  cluster: string;
  host: string;
  /** Where it asked from. */
  address: string;
  claimed_at: number;
  /** How often it was told so. */
  answers: number;
  done_at: number | null;
}

/** A host that was told to join. */
export interface JoinsTable {
  id: Generated<number>;
  cluster: string;
  host: string;
  role: string;
  started_at: number;
  /** Until when its turn lasts. */
  expires_at: number;
  answers: number;
  ended_at: number | null;
  outcome: string | null;
}

export interface BootstrapTokensTable {
  /** Its public half. */
  id: string;
  cluster: string;
  host: string;
  sealed: Buffer;
  created_at: number;
  expires_at: number;
  /** 0 or 1: `kubeadm init` makes it known to the API, not we. */
  in_init: number;
  used_at: number | null;
}

export interface NodesTable {
  /** `cluster/name` */
  id: string;
  cluster: string;
  name: string;
  /** True, False or Unknown. */
  ready: string;
  reason: string;
  message: string;
  kubelet_version: string;
  /** Since when it is so. */
  since: number;
}

/** Which cluster a name stands for, so that no other is taken for it. */
export interface PipelineClustersTable {
  cluster: string;
  /** Of its namespace kube-system. */
  uid: string;
  seen_at: number;
}

export interface PipelineStepsTable {
  /** `CLUSTER/STEP` */
  key: string;
  cluster: string;
  step: string;
  /** pending, running, retrying, done, failed, skipped */
  state: string;
  /** Hash of what the state stands for. */
  inputs: string;
  /** Runs with these inputs that have failed. */
  attempts: number;
  run: string | null;
  since: number;
  retry_at: number | null;
  reason: string | null;
  /** 0 or 1: a person wants it to run. */
  ordered: number;
  /** How many nodes were Ready when it last ran. */
  nodes: number;
}

export interface PipelineRunsTable {
  run: string;
  cluster: string;
  step: string;
  attempt: number;
  started_at: number;
  ended_at: number | null;
  /** done, failed, interrupted */
  result: string | null;
  reason: string | null;
}

export interface PipelineLogsTable {
  id: Generated<number>;
  run: string;
  at: number;
  text: string;
}
