import type { ClusterSpec, HostSpec } from '../inventory/model.ts';
import { findCluster, findInitClaim, nodesOf, openJoins, tokensOf } from '../store/clusters.ts';
import type { Db } from '../store/store.ts';
import { endpointOf, formatEndpoint, membersOf } from './endpoint.ts';
import { expiryOf, isoDay, pinOf } from './pki.ts';
import { AUTHORITIES, secretsFaults } from './secrets.ts';
import type { SecretsStore } from './secrets-store.ts';
import type { ApiStatus } from './watch.ts';

/** A cluster as people and programs see it; never a secret. */
export interface ClusterDescription {
  name: string;
  kubernetes: string;
  endpoint: string | null;
  api: {
    state: ApiStatus['state'];
    since: string | null;
    reason: string;
    firstSeen: string | null;
    /** What its API server is, which may be another than `kubernetes` wants; `null` until it was seen. */
    version: string | null;
  };
  hosts: number;
  /** Nodes as the API showed them last; `Unknown` while it can't be asked. */
  nodes: { name: string; ready: string; reason: string; version: string; since: string }[];
  init: { host: string; since: string; done: string | null } | null;
  joining: { host: string; role: string; since: string; until: string }[];
  /** `null` until they are needed for the first time. */
  secrets: { caHash: string; expires: Record<string, string>; faults: string[] } | null;
  tokens: { id: string; host: string; expires: string }[];
}

export interface DescribeInput {
  db: Db;
  cluster: ClusterSpec;
  hosts: readonly HostSpec[];
  secrets: SecretsStore;
  api: ApiStatus;
  now: number;
}

export async function describeCluster(input: DescribeInput): Promise<ClusterDescription> {
  const { db, cluster, hosts, api } = input;
  const [row, claim, nodes, joins, tokens] = [
    await findCluster(db, cluster.name),
    await findInitClaim(db, cluster.name),
    await nodesOf(db, cluster.name),
    await openJoins(db, cluster.name),
    await tokensOf(db, cluster.name),
  ];
  const endpoint = endpointOf(cluster, hosts, claim);
  const isKnown = api.state === 'up';
  return {
    name: cluster.name,
    kubernetes: cluster.kubernetes,
    endpoint: endpoint === undefined ? null : formatEndpoint(endpoint),
    api: {
      state: api.state,
      since: api.since === 0 ? null : iso(api.since),
      reason: api.reason,
      firstSeen: row?.api_seen_at ? iso(row.api_seen_at) : null,
      version: api.version ?? null,
    },
    hosts: membersOf(cluster, hosts).length,
    nodes: nodes.map((node) => ({
      name: node.name,
      ready: isKnown ? node.ready : 'Unknown',
      reason: isKnown ? node.reason : 'the API can not be asked',
      version: node.kubelet_version,
      since: iso(node.since),
    })),
    init:
      claim === undefined
        ? null
        : { host: claim.host, since: iso(claim.claimed_at), done: claim.done_at ? iso(claim.done_at) : null },
    joining: joins.map((join) => ({
      host: join.host,
      role: join.role,
      since: iso(join.started_at),
      until: iso(join.expires_at),
    })),
    secrets: row === undefined ? null : await describeSecrets(input),
    tokens: tokens
      .filter(({ used_at: usedAt }) => usedAt === null)
      .map(({ id, host, expires_at: expires }) => ({ id, host, expires: iso(expires) })),
  };
}

async function describeSecrets({ secrets, cluster, now }: DescribeInput) {
  try {
    const found = await secrets.find(cluster.name);
    if (found === undefined) return null;
    const expires = Object.entries(AUTHORITIES).map(([key, what]) => [
      what,
      isoDay(expiryOf(found[key as keyof typeof AUTHORITIES].certificate)),
    ]);
    return {
      caHash: pinOf(found.ca.certificate),
      expires: Object.fromEntries(expires) as Record<string, string>,
      faults: secretsFaults(found, new Date(now)),
    };
  } catch (error) {
    return { caHash: '', expires: {}, faults: [(error as Error).message] };
  }
}

function iso(time: number): string {
  return new Date(time).toISOString();
}
