import type { ClusterSpec } from '../inventory/model.ts';
import { compareVersions, parseVersion } from '../inventory/versions.ts';

/** What decides about a cluster's extensions. */
export type ClusterVersions = Pick<ClusterSpec, 'name' | 'kubernetes' | 'containerd'>;

/** `1.33.2`, with or without a `v`: pre-releases and the like are no version that a cluster can be at. */
const RELEASE = /^v?\d+\.\d+\.\d+$/;

/**
 * The one answer to which versions of an extension a cluster may have. A kubelet must never be newer than its control
 * plane, so Kubernetes goes up to the cluster's version; a containerd that is pinned is that one; the rest is free.
 */
export function allowedVersions(
  name: string,
  versions: readonly string[],
  cluster: ClusterVersions,
): string[] {
  if (name === 'kubernetes') {
    return versions.filter((version) => RELEASE.test(version) && order(version, cluster.kubernetes) <= 0);
  }
  const { containerd } = cluster;
  if (name === 'containerd' && containerd !== undefined) {
    return versions.filter((version) => isSame(version, containerd));
  }
  return [...versions];
}

/** Clusters that are at exactly this version: new hosts of theirs could not be set up without it. */
export function clustersAt(name: string, version: string, clusters: readonly ClusterVersions[]): string[] {
  const wanted = (cluster: ClusterVersions) =>
    name === 'kubernetes' ? cluster.kubernetes : name === 'containerd' ? cluster.containerd : undefined;
  return clusters.filter((cluster) => isSame(version, wanted(cluster) ?? '')).map((cluster) => cluster.name);
}

function isSame(one: string, other: string): boolean {
  return RELEASE.test(one) && RELEASE.test(other) && order(one, other) === 0;
}

function order(one: string, other: string): number {
  return compareVersions(parseVersion(one), parseVersion(other));
}
