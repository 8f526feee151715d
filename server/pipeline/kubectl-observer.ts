import { randomBytes } from 'node:crypto';
import { isRecord } from '../document/shape.ts';
import type { Observation } from './decide.ts';
import { askKubectl } from './kubectl.ts';
import type { RunFolders } from './run-folder.ts';
import type { Tools } from './tools.ts';

export interface ObserverOptions {
  tools: Tools;
  env: Record<string, string>;
  folders: RunFolders;
}

/** What a kubeconfig shows of its cluster's nodes. Fails when it can't be asked, with why. */
export async function observeWithKubectl(
  { tools, env, folders }: ObserverOptions,
  kubeconfig: string,
): Promise<Observation> {
  const program = await tools.get('kubectl');
  return folders.with(`look-${randomBytes(8).toString('hex')}`, async (folder) => {
    const kubeconfigFile = await folder.put('kubeconfig', kubeconfig);
    const nodes = await askKubectl({ program, kubeconfigFile, env }, 'get', 'nodes', '-o', 'json');
    return observationOf(JSON.parse(nodes));
  });
}

interface NodeLike {
  spec?: { unschedulable?: boolean; taints?: { effect?: string }[] };
  status?: { conditions?: { type?: string; status?: string }[] };
}

/** A list of nodes to what the pipeline wants to know of them. Pure. */
export function observationOf(list: unknown): Exclude<Observation, 'unknown'> {
  const nodes = isRecord(list) && Array.isArray(list.items) ? (list.items as NodeLike[]) : [];
  const ready = nodes.filter(({ status }) =>
    (status?.conditions ?? []).some(({ type, status: is }) => type === 'Ready' && is === 'True'),
  );
  const taking = ready.filter(
    ({ spec }) =>
      spec?.unschedulable !== true &&
      !(spec?.taints ?? []).some(({ effect }) => effect === 'NoSchedule' || effect === 'NoExecute'),
  );
  return { apiReady: true, nodesReady: ready.length, schedulable: taking.length };
}
