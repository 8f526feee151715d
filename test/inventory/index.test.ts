import { expect, it } from 'vitest';
import { InventoryIndex } from '../../server/inventory/index.ts';
import { inventoryOf, lab } from './make.ts';

const inventory = inventoryOf(
  lab(
    '{name: n2, pool: workers, macs: [52:54:00:12:34:02, 52:54:00:12:34:03]}',
    '{name: n3, pool: workers, uuid: 44454c4c-4200-1035-8052-b4c04f384332}',
    '{name: n4, pool: workers, serial: 0042}',
  ),
);

it('finds a host by everything that names it', () => {
  const index = new InventoryIndex(inventory);
  expect(index.host('n1')?.name).toBe('n1');
  expect(index.hostByMac('52:54:00:12:34:03')?.name).toBe('n2');
  expect(index.hostByUuid('44454c4c-4200-1035-8052-b4c04f384332')?.name).toBe('n3');
  expect(index.hostByUuid('4c4c4544-0042-3510-8052-b4c04f384332')?.name).toBe('n3');
  expect(index.hostBySerial('0042')?.name).toBe('n4');
});

it('finds nobody by what is not there', () => {
  const index = new InventoryIndex(inventory);
  expect(index.host('n9')).toBeUndefined();
  expect(index.hostByMac('52:54:00:ff:ff:ff')).toBeUndefined();
  expect(index.hostByUuid('00000000-0000-0000-0000-000000000001')).toBeUndefined();
  expect(index.hostBySerial('42')).toBeUndefined();
});

it('is the same when it is built piece by piece, and leaves what it was built of alone', () => {
  const { hosts, ...rest } = inventory;
  const pieces = new InventoryIndex({ ...rest, hosts: [] });
  for (const host of hosts) pieces.addHosts([host]);
  expect(pieces.inventory).toEqual(inventory);
  expect(pieces.hostByMac('52:54:00:12:34:02')?.name).toBe('n2');
  const given = { ...inventory, hosts: [] };
  new InventoryIndex(given).addHosts(hosts);
  expect(given.hosts).toEqual([]);
});
