import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRange } from '../../../server/http/files/range.ts';

const WHOLE = { kind: 'whole' };
const NOTHING = { kind: 'nothing' };
const part = (start: number, end: number) => ({ kind: 'part', start, end });

describe('a Range header of a file of 100 bytes', () => {
  it.each([
    ['bytes=0-9', part(0, 9)],
    ['bytes=90-', part(90, 99)],
    ['bytes=90-1000', part(90, 99)],
    ['bytes=99-99', part(99, 99)],
    ['bytes=-1', part(99, 99)],
    ['bytes=-1000', part(0, 99)],
    ['BYTES=0-0', part(0, 0)],
    ['bytes= 0-0 ', part(0, 0)],
    ['bytes=0-0,', part(0, 0)],
    ['bytes=0-99999999999999999999999999', part(0, 99)],
    ['bytes=100-', NOTHING],
    ['bytes=100-200', NOTHING],
    ['bytes=99999999999999999999999999-', NOTHING],
    ['bytes=-0', NOTHING],
    ['bytes=0-0,5-9', WHOLE],
    ['bytes=9-0', WHOLE],
    ['bytes=-', WHOLE],
    ['bytes=', WHOLE],
    ['bytes=a-b', WHOLE],
    ['bytes=0x1-2', WHOLE],
    ['bytes=1.5-2', WHOLE],
    ['bytes=--1', WHOLE],
    ['bytes 0-9', WHOLE],
    ['lines=0-9', WHOLE],
    ['', WHOLE],
    [undefined, WHOLE],
  ])('%s', (header, wanted) => expect(parseRange(header, 100)).toEqual(wanted));
});

it('has no part of an empty file', () => {
  expect(parseRange('bytes=0-', 0)).toEqual(NOTHING);
  expect(parseRange('bytes=0-0', 0)).toEqual(NOTHING);
  expect(parseRange('bytes=-5', 0)).toEqual(WHOLE);
});

const size = fc.nat({ max: 2 ** 40 });

it('never leaves the file, whatever the header says', () => {
  const header = fc.oneof(
    fc.string(),
    fc.string({ unit: fc.constantFrom(...'0123456789-, bytes=') }).map((text) => `bytes=${text}`),
  );
  fc.assert(
    fc.property(header, size, (text, bytes) => {
      const wanted = parseRange(text, bytes);
      if (wanted.kind !== 'part') return;
      expect(wanted.start).toBeGreaterThanOrEqual(0);
      expect(wanted.end).toBeGreaterThanOrEqual(wanted.start);
      expect(wanted.end).toBeLessThan(bytes);
    }),
  );
});

it('gives what is asked for, as far as there is any', () => {
  fc.assert(
    fc.property(size, fc.nat(), fc.nat(), (bytes, start, more) => {
      const wanted = parseRange(`bytes=${start}-${start + more}`, bytes);
      expect(wanted).toEqual(start < bytes ? part(start, Math.min(start + more, bytes - 1)) : NOTHING);
      expect(parseRange(`bytes=${start}-`, bytes)).toEqual(start < bytes ? part(start, bytes - 1) : NOTHING);
    }),
  );
});

it('puts a file together again from any two parts that meet', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 2 ** 40 }), fc.nat(), (bytes, at) => {
      const cut = 1 + (at % (bytes - 1));
      const first = parseRange(`bytes=0-${cut - 1}`, bytes);
      const second = parseRange(`bytes=${cut}-`, bytes);
      expect(first).toEqual(part(0, cut - 1));
      expect(second).toEqual(part(cut, bytes - 1));
      expect(parseRange(`bytes=-${bytes - cut}`, bytes)).toEqual(second);
    }),
  );
});
