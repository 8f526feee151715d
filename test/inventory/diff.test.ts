import { describe, expect, it } from 'vitest';
import { diffInventories, EMPTY_INVENTORY } from '../../server/inventory/diff.ts';
import { makeRevision, openRevision } from '../../server/inventory/revision.ts';
import { inventoryOf, lab } from './make.ts';

const BEFORE = lab('{name: n2, pool: workers, serial: A}', '{name: n3, pool: workers, serial: B}');
const diff = (before: string, after: string) => diffInventories(inventoryOf(before), inventoryOf(after));

describe('the difference between two inventories', () => {
  it('is nothing between equals', () => {
    expect(diff(BEFORE, BEFORE)).toEqual([]);
  });

  it('is every item, from nothing', () => {
    const changes = diffInventories(EMPTY_INVENTORY, inventoryOf(BEFORE));
    expect(changes.map(({ kind, name, change, fields }) => ({ kind, name, change, fields }))).toEqual([
      { kind: 'cluster', name: 'lab', change: 'added', fields: [] },
      { kind: 'profile', name: 'flatcar', change: 'added', fields: [] },
      { kind: 'pool', name: 'control', change: 'added', fields: [] },
      { kind: 'pool', name: 'workers', change: 'added', fields: [] },
      { kind: 'host', name: 'n1', change: 'added', fields: [] },
      { kind: 'host', name: 'n2', change: 'added', fields: [] },
      { kind: 'host', name: 'n3', change: 'added', fields: [] },
    ]);
  });

  it('names hosts that come and go', () => {
    expect(diff(BEFORE, BEFORE.replace('name: n3', 'name: n4'))).toEqual([
      { kind: 'host', name: 'n4', change: 'added', fields: [] },
      { kind: 'host', name: 'n3', change: 'removed', fields: [] },
    ]);
  });

  it('tells which field of a host changes, from what to what', () => {
    expect(
      diff(BEFORE, BEFORE.replace('serial: A', 'serial: A, ip: 10.0.0.2, disk: {minSizeGB: 5}')),
    ).toEqual([
      {
        kind: 'host',
        name: 'n2',
        change: 'changed',
        fields: [
          { field: 'ip', to: '10.0.0.2' },
          { field: 'disk', to: { minSizeGB: 5 } },
        ],
      },
    ]);
    expect(diff(BEFORE, BEFORE.replace('serial: A', 'serial: C'))[0]!.fields).toEqual([
      { field: 'serial', from: 'A', to: 'C' },
    ]);
  });

  it('shows what an edit elsewhere does to each host', () => {
    const changes = diff(BEFORE, BEFORE.replace('os: flatcar}', 'os: flatcar, version: 4593.2.5}'));
    expect(changes.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      'profile flatcar',
      'host n1',
      'host n2',
      'host n3',
    ]);
    expect(changes[1]!.fields).toEqual([{ field: 'os.version', from: 'current', to: '4593.2.5' }]);
  });

  it('shows who becomes a member', () => {
    const changes = diff(BEFORE, BEFORE.replace('{name: workers,', '{name: workers, replicas: 1,'));
    expect(changes).toEqual([
      { kind: 'pool', name: 'workers', change: 'changed', fields: [{ field: 'replicas', to: 1 }] },
      { kind: 'host', name: 'n3', change: 'changed', fields: [{ field: 'member', from: true, to: false }] },
    ]);
  });

  it('shows lists as a whole, and the order in them', () => {
    const withArguments = (list: string) =>
      BEFORE.replace('os: flatcar}', `os: flatcar, kernelArguments: [${list}]}`);
    const changes = diff(withArguments('a, b'), withArguments('b, a'));
    expect(changes.map(({ name }) => name)).toEqual(['n1', 'n2', 'n3']);
    expect(changes[0]!.fields).toEqual([{ field: 'kernelArguments', from: ['a', 'b'], to: ['b', 'a'] }]);
  });

  // A stored revision has sorted keys: against files, every taint and add-on would seem to have changed.
  it('is nothing between the files and the revision made of them', () => {
    const text = BEFORE.replace(
      '{name: workers,',
      '{name: workers, taints: [{key: b, effect: NoSchedule, value: a}],',
    ).replace(
      'containerd:',
      'addons: [{version: 1.2.3, name: x, values: {z: 1, a: [{y: 1, x: 2}]}}], containerd:',
    );
    const inventory = inventoryOf(text);
    expect(diffInventories(openRevision(makeRevision(inventory).document), inventory)).toEqual([]);
  });
});
