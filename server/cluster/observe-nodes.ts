import type { NewEvent } from '../events/kinds.ts';
import type { NodeRow } from '../store/clusters.ts';
import type { HostRow } from '../store/hosts.ts';
import type { ApiNode } from './kubernetes-api.ts';

/** What the API shows now, compared with what it showed before. */
export interface NodesNews {
  changed: NodeRow[];
  gone: NodeRow[];
  events: NewEvent[];
}

/** Pure. `hasHost`: nodes are tied to hosts by their name. */
export function compareNodes(
  cluster: string,
  known: readonly NodeRow[],
  seen: readonly ApiNode[],
  hasHost: (name: string) => boolean,
  now: number,
): NodesNews {
  const before = new Map(known.map((row) => [row.name, row]));
  const news: NodesNews = { changed: [], gone: [], events: [] };
  const aboutHost = (name: string) => (hasHost(name) ? { host: name } : {});
  for (const node of seen) {
    const old = before.get(node.name);
    before.delete(node.name);
    const row = rowOf(cluster, node, now);
    const isSame = old?.ready === row.ready && old.reason === row.reason;
    if (old !== undefined && isSame && old.kubelet_version === row.kubelet_version) continue;
    news.changed.push(isSame ? { ...row, since: old.since } : row);
    const about = aboutHost(node.name);
    if (old === undefined) {
      const data = { cluster, node: node.name, version: node.kubeletVersion };
      news.events.push({ kind: 'node.joined', ...about, data });
    }
    if (isSame) continue;
    const data = { cluster, node: node.name };
    if (node.ready.status === 'True') news.events.push({ kind: 'node.ready', ...about, data });
    else {
      const { reason, message } = row;
      news.events.push({ kind: 'node.not-ready', ...about, data: { ...data, reason, message } });
    }
  }
  // The API answered, and has it no more: only then is it gone.
  for (const row of before.values()) {
    news.gone.push(row);
    const data = { cluster, node: row.name };
    news.events.push({ kind: 'node.removed', ...aboutHost(row.name), data });
  }
  return news;
}

function rowOf(cluster: string, { name, kubeletVersion, ready }: ApiNode, now: number): NodeRow {
  const isReady = ready.status === 'True';
  const noCni = /cni|NetworkPluginNotReady/i.test(ready.message);
  return {
    id: `${cluster}/${name}`,
    cluster,
    name,
    ready: isReady || ready.status === 'False' ? ready.status : 'Unknown',
    reason: !isReady && noCni ? 'CNIMissing' : ready.reason,
    message: isReady ? '' : ready.message,
    kubelet_version: kubeletVersion,
    since: now,
  };
}

export interface HostFacts {
  row: HostRow | undefined;
  /** Since when its join is under way. */
  joiningSince: number | undefined;
  isControlPlane: boolean;
}

/** What a node tells about its host. Pure. */
export function judgeHost(node: ApiNode, { row, joiningSince, isControlPlane }: HostFacts) {
  // Times of the API are whole seconds.
  const since =
    joiningSince === undefined ? Number.POSITIVE_INFINITY : Math.floor(joiningSince / 1000) * 1000;
  const isNew = Math.max(node.createdAt, node.ready.heartbeatAt) >= since;
  // A node appears before kubeadm is through with a control-plane host; its label is the last thing it does.
  // What is older than this join is what an earlier life of the host has left.
  const hasJoined =
    !row?.joined_at && row?.state === 'bootstrapping' && isNew && (!isControlPlane || node.isControlPlane);
  const isMember = hasJoined || Boolean(row?.joined_at);
  const isReady =
    isMember && node.ready.status === 'True' && (row?.state === 'joined' || row?.state === 'bootstrapping');
  // A node that is not Ready is never shown as ready.
  const isDown = row?.state === 'ready' && node.ready.status !== 'True';
  return { hasJoined, isReady, isDown };
}
