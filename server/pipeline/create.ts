import { join } from 'node:path';
import type { ClusterAccess } from './access.ts';
import { clusterAccess, type OwnClusters } from './cluster-access.ts';
import { baseEnvironment, type Proxies } from './environment.ts';
import { RunFolders } from './run-folder.ts';
import { type PipelineOptions, PipelineService } from './service.ts';
import { Tools } from './tools.ts';

export interface CreatePipelineOptions
  extends Omit<PipelineOptions, 'inventoryDir' | 'scriptsDir' | 'folders' | 'tools' | 'env' | 'access'> {
  settings: { data: string; inventory: string; postInstall: string; kubectl: string; helm: string } & Proxies;
  /** Of this process. */
  env: Readonly<Record<string, string | undefined>>;
  clusters: OwnClusters;
  /** For tests: another way to clusters. */
  access?: ClusterAccess;
}

/** The pipelines as an appliance has them. */
export function createPipeline(options: CreatePipelineOptions): PipelineService {
  const { settings, env, clusters, access, ...rest } = options;
  const childEnv = baseEnvironment(env, settings);
  const { kubectl, helm, data } = settings;
  const tools = new Tools({ wanted: { kubectl, helm }, path: childEnv.PATH ?? '' });
  const folders = new RunFolders(join(data, 'pipeline-runs'));
  return new PipelineService({
    ...rest,
    inventoryDir: settings.inventory,
    scriptsDir: settings.postInstall,
    folders,
    tools,
    env: childEnv,
    access: access ?? clusterAccess({ own: clusters, filesDir: join(data, 'kubeconfigs') }),
  });
}
