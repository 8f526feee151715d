import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RailheadError } from '../errors.ts';
import type { ClusterAccess } from './access.ts';
import { type ObserverOptions, observeWithKubectl } from './kubectl-observer.ts';

/** What this appliance knows of the clusters that it has begun. */
export interface OwnClusters {
  statusOf: (cluster: string) => { state: 'not-begun' | 'unknown' | 'up'; reason: string };
  applianceKubeconfig: (cluster: string, wanted: { seconds: number }) => Promise<string>;
  authorityOf: (cluster: string) => Promise<string | undefined>;
}

export interface ClusterAccessOptions extends ObserverOptions {
  own: OwnClusters;
  /** Where people put kubeconfigs of clusters that were not begun here: `CLUSTER.yaml`. */
  filesDir: string;
}

/** By the cluster's own keys where they are here, else by a kubeconfig that a person has put into a folder. */
export function clusterAccess({ own, filesDir, ...observer }: ClusterAccessOptions): ClusterAccess {
  const isOwn = (cluster: string): boolean => own.statusOf(cluster).state !== 'not-begun';
  return {
    kubeconfigFor: (cluster, wanted) =>
      isOwn(cluster) ? own.applianceKubeconfig(cluster, wanted) : readKubeconfigFile(filesDir, cluster),
    authorityOf: async (cluster) => (isOwn(cluster) ? own.authorityOf(cluster) : undefined),
    observe: async (cluster) => {
      const { state, reason } = own.statusOf(cluster);
      if (state === 'unknown') throw new RailheadError('RH_NOT_FOUND', reason);
      const kubeconfig = isOwn(cluster)
        ? own.applianceKubeconfig(cluster, { seconds: 0 })
        : readKubeconfigFile(filesDir, cluster);
      return observeWithKubectl(observer, await kubeconfig);
    },
  };
}

async function readKubeconfigFile(dir: string, cluster: string): Promise<string> {
  const file = join(dir, `${cluster}.yaml`);
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new RailheadError('RH_NOT_FOUND', `${cluster} was not begun here, and there is no ${file}.`, {
      cause: error,
    });
  }
}
