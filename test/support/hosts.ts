import { InventoryIndex } from '../../server/inventory/index.ts';
import { loadInventory } from '../../server/inventory/load.ts';
import type { HostSpec } from '../../server/inventory/model.ts';

/** The index of an inventory that is written in the test. */
export function indexOf(text: string): InventoryIndex {
  const { inventory, problems } = loadInventory({ files: [{ name: 'test.yaml', text }], problems: [] });
  if (inventory === undefined) throw new Error(JSON.stringify(problems, null, 2));
  return new InventoryIndex(inventory);
}

/** One host, as the real loader makes it. */
export function hostSpec({
  install = 'ram',
  name = 'n1',
}: {
  install?: 'ram' | 'disk';
  name?: string;
} = {}): HostSpec {
  const disk = install === 'disk' ? ', disk: /dev/disk/by-id/x' : '';
  return indexOf(`
profiles: [{name: p, os: flatcar, version: 4593.2.5, install: ${install}, kernelArguments: [console=ttyS0]}]
pools: [{name: w, profile: p}]
hosts: [{name: ${name}, pool: w, macs: ['52:54:00:00:00:01']${disk}}]
`).host(name)!;
}
