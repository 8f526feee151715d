import { formatProblem } from '../../server/document/problem.ts';
import { type Loaded, loadInventory } from '../../server/inventory/load.ts';
import type { HostSpec, Inventory } from '../../server/inventory/model.ts';

/** A cluster with a pool of each role, and no hosts yet; append `hosts:` to it. */
export const BASE = `
clusters: [{name: lab, kubernetes: 1.36.4, containerd: 2.1.5}]
profiles: [{name: flatcar, os: flatcar}]
pools:
  - {name: control, cluster: lab, role: control-plane, profile: flatcar}
  - {name: workers, cluster: lab, profile: flatcar, identity: boot}
`;

/** BASE with one control-plane host, and as many more lines as are given: an inventory without any problem. */
export function lab(...hosts: string[]): string {
  const lines = ['{name: n1, pool: control, macs: [52:54:00:12:34:01], disk: {serial: D}}', ...hosts];
  return `${BASE}hosts:\n${lines.map((line) => `  - ${line}\n`).join('')}`;
}

/** Files by name, or the text of one file `f.yaml`. */
export function load(files: string | Record<string, string>): Loaded {
  const named = typeof files === 'string' ? { 'f.yaml': files } : files;
  return loadInventory({
    files: Object.entries(named).map(([name, text]) => ({ name, text })),
    problems: [],
  });
}

/** Errors and warnings as `railhead check` prints them, but for the advice to give hosts their MACs. */
export function problemsOf(files: string | Record<string, string>): string[] {
  return load(files)
    .problems.map(formatProblem)
    .filter((line) => !line.includes('without `macs`'));
}

export function inventoryOf(files: string | Record<string, string>): Inventory {
  const { inventory, problems } = load(files);
  if (inventory === undefined) throw new Error(problems.map(formatProblem).join('\n'));
  return inventory;
}

export function hostOf(files: string | Record<string, string>, name: string): HostSpec {
  const host = inventoryOf(files).hosts.find((entry) => entry.name === name);
  if (host === undefined) throw new Error(`there is no host ${name}`);
  return host;
}
