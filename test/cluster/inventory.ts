import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InventoryIndex } from '../../server/inventory/index.ts';
import { loadInventoryFolder } from '../../server/inventory/load.ts';
import type { Inventory } from '../../server/inventory/model.ts';
import { tempFolder } from '../support/temp.ts';

/** Three control-plane hosts and two workers. `cluster` is added to the cluster's own keys, as YAML. */
export async function exampleInventory(
  cluster = 'endpoint: 10.0.0.10:6443',
  c1 = '10.0.0.11',
): Promise<Inventory> {
  const lines = cluster.split('\n').map((line) => `    ${line}`);
  return inventoryOf(`
clusters:
  - name: lab
    kubernetes: 1.36.4
${lines.join('\n')}
profiles: [{name: flatcar, os: flatcar}]
pools:
  - {name: control, cluster: lab, role: control-plane, profile: flatcar}
  - {name: workers, cluster: lab, profile: flatcar, labels: {rack: a, node-role.kubernetes.io/worker: ""}, taints: [{key: gpu, effect: NoSchedule}]}
  - {name: spare, profile: flatcar}
hosts:
  - {name: c1, pool: control, ip: ${c1}, macs: ["52:54:00:00:00:01"]}
  - {name: c2, pool: control, ip: 10.0.0.12, macs: ["52:54:00:00:00:02"]}
  - {name: c3, pool: control, ip: 10.0.0.13, macs: ["52:54:00:00:00:03"]}
  - {name: w1, pool: workers, ip: 10.0.0.21, macs: ["52:54:00:00:00:04"]}
  - {name: w2, pool: workers, macs: ["52:54:00:00:00:05"]}
  - {name: s1, pool: spare, macs: ["52:54:00:00:00:06"]}
`);
}

export async function inventoryOf(yaml: string): Promise<Inventory> {
  // Not for a test alone: hooks need one, too.
  const dir = await mkdtemp(join(tmpdir(), 'railhead-inventory-'));
  await writeFile(join(dir, 'a.yaml'), yaml);
  const { inventory, problems } = await loadInventoryFolder(dir, 'inventory');
  await rm(dir, { recursive: true, force: true });
  if (inventory === undefined) throw new Error(problems.map(({ message }) => message).join('\n'));
  return inventory;
}

/** What `check` says about it: file, line, column and message. */
export async function problemsOf(yaml: string): Promise<string[]> {
  const dir = await tempFolder();
  await writeFile(join(dir, 'a.yaml'), yaml);
  const { problems } = await loadInventoryFolder(dir, 'inventory');
  return problems.map(({ severity, line, col, message }) => `${severity} ${line}:${col} ${message}`);
}

export function indexOf(inventory: Inventory): InventoryIndex {
  return new InventoryIndex(inventory);
}
