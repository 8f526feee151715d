import type { ClusterDescription } from '../cluster/describe.ts';

/** What the card of a cluster says besides what the inventory does. Pure. */
export function clusterCard(cluster: ClusterDescription | undefined) {
  if (cluster === undefined) return { api: '–', ready: '–', expires: '', faults: [] };
  const { api, nodes, hosts, secrets, init } = cluster;
  const reason = api.reason === '' ? '' : ` (${api.reason})`;
  const expiries = Object.values(secrets?.expires ?? {}).sort();
  return {
    api: init === null && api.state === 'not-begun' ? 'not begun yet' : `${api.state}${reason}`,
    ready: `${nodes.filter(({ ready }) => ready === 'True').length} of ${hosts}`,
    /** The authority that is over first. */
    expires: expiries[0] ?? '',
    faults: secrets?.faults ?? [],
  };
}
