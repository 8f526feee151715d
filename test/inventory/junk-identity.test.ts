import { describe, expect, it } from 'vitest';
import { InventoryIndex } from '../../server/inventory/index.ts';
import { isJunkSerial, isJunkUuid } from '../../server/inventory/junk-identity.ts';
import { inventoryOf, lab, problemsOf } from './make.ts';

const FILLER = '03000200-0400-0500-0006-000700080009';
const SHARED = '4c4c4544-0042-3510-8052-b4c04f384332';

describe('what vendors forgot to fill in', () => {
  it.each([
    '00000000-0000-0000-0000-000000000000',
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
    FILLER,
    '00020003-0004-0005-0006-000700080009',
  ])('UUID %s', (uuid) => {
    expect(isJunkUuid(uuid)).toBe(true);
  });
  it.each([SHARED, '00000000-0000-0000-0000-000000000001', 'ffffffff-ffff-ffff-ffff-fffffffffffe'])(
    'UUID %s is one',
    (uuid) => {
      expect(isJunkUuid(uuid)).toBe(false);
    },
  );
  it.each([
    'To Be Filled By O.E.M.',
    'Default string',
    'None',
    '0',
    '0000000',
    '',
    '  ',
    'System Serial Number',
    'FFFFFFFF',
  ])('serial %j', (serial) => {
    expect(isJunkSerial(serial)).toBe(true);
  });
  it.each(['SN-7', '0A12', 'CZ1234'])('serial %j is one', (serial) => {
    expect(isJunkSerial(serial)).toBe(false);
  });
});

describe('in an inventory', () => {
  it('is worth a warning, and finds nobody', () => {
    const text = lab(
      `{name: n2, pool: workers, macs: [52:54:00:12:34:02], uuid: ${FILLER}, serial: Default string}`,
    );
    const why = 'is what firmware says when nobody filled it in: it tells no machine from another';
    expect(problemsOf(text)).toEqual([
      `f.yaml:9:64: warning: host "n2": the UUID ${FILLER} ${why}`,
      `f.yaml:9:110: warning: host "n2": the serial number "Default string" ${why}`,
    ]);
    const index = new InventoryIndex(inventoryOf(text));
    expect(index.hostByUuid(FILLER)).toBeUndefined();
    expect(index.hostBySerial('Default string')).toBeUndefined();
    expect(index.hostByMac('52:54:00:12:34:02')?.name).toBe('n2');
  });

  it('is not enough to name a host', () => {
    expect(problemsOf(lab(`{name: n2, pool: workers, uuid: ${FILLER}}`))).toContain(
      'f.yaml:9:5: error: host "n2": nothing tells it from others: give it `macs`, `uuid` or `serial`',
    );
  });

  it('a UUID that two hosts have is a warning if they have MACs, and names neither', () => {
    const text = lab(
      `{name: n2, pool: workers, macs: [52:54:00:12:34:02], uuid: ${SHARED}}`,
      `{name: n3, pool: workers, macs: [52:54:00:12:34:03], uuid: ${SHARED}}`,
    );
    expect(problemsOf(text)).toEqual([
      `f.yaml:10:64: warning: host "n3": the UUID ${SHARED} is already used by host "n2" at f.yaml:9:64; it tells neither from the other, their MACs do`,
    ]);
    const index = new InventoryIndex(inventoryOf(text));
    expect(index.hostByUuid(SHARED)).toBeUndefined();
    expect(index.hostByMac('52:54:00:12:34:03')?.name).toBe('n3');
  });
});
