import type { ClusterSpec, HostSpec } from '../inventory/model.ts';

/** Where the Kubernetes API of a cluster is reached. */
export interface Endpoint {
  /** A name or an address, without brackets. */
  host: string;
  port: number;
}

export const DEFAULT_API_PORT = 6443;

/**
 * The one that the inventory names; else the only control-plane host: by its address there, or by the one that it
 * asked from when it began the cluster. `undefined` as long as nobody can know.
 */
export function endpointOf(
  cluster: ClusterSpec,
  hosts: readonly HostSpec[],
  claim: { host: string; address: string } | undefined,
): Endpoint | undefined {
  if (cluster.endpoint !== undefined) return parseEndpoint(cluster.endpoint);
  const members = controlPlaneOf(cluster, hosts);
  const first = claim === undefined ? members[0] : members.find(({ name }) => name === claim.host);
  const host = first?.ip ?? claim?.address;
  return host === undefined || host === '' ? undefined : { host, port: DEFAULT_API_PORT };
}

export function parseEndpoint(text: string): Endpoint {
  const { hostname, port } = new URL(`https://${text}`);
  // A URL doesn't say its own default port.
  const given = port === '' && /:443$/.test(text) ? 443 : Number(port);
  return { host: hostname.replaceAll(/[[\]]/g, ''), port: given || DEFAULT_API_PORT };
}

export function formatEndpoint({ host, port }: Endpoint): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

export function membersOf(cluster: ClusterSpec, hosts: readonly HostSpec[]): HostSpec[] {
  return hosts.filter((host) => host.cluster === cluster.name && host.member);
}

export function controlPlaneOf(cluster: ClusterSpec, hosts: readonly HostSpec[]): HostSpec[] {
  return membersOf(cluster, hosts).filter(({ role }) => role === 'control-plane');
}
