import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normaliseUuid, swapUuid, uuidKey } from '../../server/inventory/uuid.ts';

describe('a UUID', () => {
  it('is the same with and without dashes, in capitals or not', () => {
    fc.assert(
      fc.property(fc.uuid(), (uuid) => {
        for (const text of [uuid, uuid.toUpperCase(), uuid.replaceAll('-', '')]) {
          expect(normaliseUuid(text)).toBe(uuid);
        }
      }),
    );
  });

  it.each([
    '',
    'nonsense',
    '4c4c4544-0042-3510-8052',
    '4c4c4544-0042-3510-8052-b4c04f38433g',
    '{4c4c4544-0042-3510-8052-b4c04f384332}',
  ])('is not %j', (text) => {
    expect(normaliseUuid(text)).toBeUndefined();
  });

  it('in the other byte order has its first three fields reversed, and no more', () => {
    expect(swapUuid('4c4c4544-0042-3510-8052-b4c04f384332')).toBe('44454c4c-4200-1035-8052-b4c04f384332');
  });

  it('is itself again after two swaps', () => {
    fc.assert(fc.property(fc.uuid(), (uuid) => swapUuid(swapUuid(uuid)) === uuid));
  });

  it('has one key in both byte orders, which is one of the two', () => {
    fc.assert(
      fc.property(fc.uuid(), (uuid) => {
        expect(uuidKey(swapUuid(uuid))).toBe(uuidKey(uuid));
        expect([uuid, swapUuid(uuid)]).toContain(uuidKey(uuid));
      }),
    );
  });

  it('has another key than any other UUID', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.uuid(), (a, b) => {
        fc.pre(a !== b && a !== swapUuid(b));
        expect(uuidKey(a)).not.toBe(uuidKey(b));
      }),
    );
  });
});
