import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ApiNode, explainApiFault, openClusterApi } from '../cluster/kubernetes-api.ts';
import { RailheadError } from '../errors.ts';
import type { ClusterAccess } from './access.ts';
import type { Observation } from './decide.ts';
import { readKubeconfig } from './kubeconfig.ts';

/** What this appliance knows of the clusters that it has begun. */
export interface OwnClusters {
  statusOf: (cluster: string) => { state: 'not-begun' | 'unknown' | 'up'; reason: string };
  nodesOf: (cluster: string) => readonly ApiNode[];
  applianceKubeconfig: (cluster: string, wanted: { seconds: number }) => Promise<string>;
  authorityOf: (cluster: string) => Promise<string | undefined>;
}

export interface ClusterAccessOptions {
  own: OwnClusters;
  /** Where people put kubeconfigs of clusters that were not begun here: `CLUSTER.yaml`. */
  filesDir: string;
}

/** By the cluster's own keys where they are here, else by a kubeconfig that a person has put into a folder. */
export function clusterAccess({ own, filesDir }: ClusterAccessOptions): ClusterAccess {
  const isOwn = (cluster: string): boolean => own.statusOf(cluster).state !== 'not-begun';
  return {
    kubeconfigFor: (cluster, wanted) =>
      isOwn(cluster) ? own.applianceKubeconfig(cluster, wanted) : readKubeconfigFile(filesDir, cluster),
    authorityOf: async (cluster) => (isOwn(cluster) ? own.authorityOf(cluster) : undefined),
    observe: async (cluster) => {
      const { state, reason } = own.statusOf(cluster);
      if (state === 'unknown') throw new RailheadError('RH_NOT_FOUND', reason);
      if (state === 'up') return observationOf(own.nodesOf(cluster));
      return observationOf(await listNodes(await readKubeconfigFile(filesDir, cluster)));
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

async function listNodes(kubeconfig: string): Promise<readonly ApiNode[]> {
  const read = readKubeconfig(kubeconfig);
  if ('fault' in read) throw new RailheadError('RH_NOT_FOUND', read.fault);
  const api = await openClusterApi(kubeconfig);
  return api.listNodes().then(
    ({ nodes }) => nodes,
    (error: unknown) => {
      throw new RailheadError('RH_NOT_FOUND', explainApiFault(error), { cause: error });
    },
  );
}

/** Nodes to what the pipeline wants to know of them. Pure. */
export function observationOf(nodes: readonly ApiNode[]): Exclude<Observation, 'unknown'> {
  const ready = nodes.filter(({ ready }) => ready.status === 'True');
  const taking = ready.filter(({ takesPods }) => takesPods);
  return { apiReady: true, nodesReady: ready.length, schedulable: taking.length };
}
