import type { Observation } from './decide.ts';

/** How the pipeline gets at clusters. Whoever knows the clusters provides it. */
export interface ClusterAccess {
  /** A kubeconfig (its text) that may do everything, valid for at least so long. Fails when there is none yet. */
  kubeconfigFor: (cluster: string, wanted: { seconds: number }) => Promise<string>;
  /** What is seen of it now. Fails when it can't be asked, with why. */
  observe: (cluster: string) => Promise<Observation>;
  /** Its CA certificate (PEM), if this appliance has made it: no other cluster has the same. */
  authorityOf?: (cluster: string) => Promise<string | undefined>;
}
