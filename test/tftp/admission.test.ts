import { expect, it } from 'vitest';
import { Admission } from '../../server/tftp/admission.ts';
import { Damper } from '../../server/tftp/damper.ts';
import { parsePortPolicy } from '../../server/tftp/sockets.ts';

it('one address can’t take every place, and places come free again', () => {
  const admission = new Admission({ total: 3, perClient: 2 });
  expect([admission.enter('a'), admission.enter('a')]).toEqual([undefined, undefined]);
  expect(admission.enter('a')).toContain('a has 2 transfers');
  expect(admission.enter('b')).toBeUndefined();
  expect(admission.enter('c')).toContain('3 transfers are under way');
  admission.leave('a');
  expect(admission.enter('c')).toBeUndefined();
  expect(admission.total).toBe(3);
});

it('lets the first of equal messages through, then counts, then tells how many there were', () => {
  let now = 0;
  const damper = new Damper(() => now);
  expect(damper.admit('a', 'x')).toBe(0);
  expect(damper.admit('a', 'x')).toBeUndefined();
  expect(damper.admit('a', 'y')).toBe(0);
  expect(damper.admit('b', 'x')).toBe(0);
  expect(damper.admit('a', 'x')).toBeUndefined();
  now = 61_000;
  expect(damper.admit('a', 'x')).toBe(2);
});

it('lets through only so many different messages of one source, and of all together', () => {
  let now = 0;
  const damper = new Damper(() => now);
  const admitted = (source: string, messages: number): number =>
    Array.from({ length: messages }, (_, n) => damper.admit(source, `${n}`)).filter((n) => n !== undefined)
      .length;
  expect(admitted('a', 5000)).toBe(100);
  expect(admitted('b', 10)).toBe(10);
  const many = Array.from({ length: 9000 }, (_, n) => admitted(`made up ${n}`, 1));
  expect(many.reduce((total, one) => total + one, 0)).toBe(2000 - 110);
  now = 61_000;
  expect(admitted('a', 5000)).toBe(100);
});

it('understands port policies', () => {
  expect(parsePortPolicy('any')).toEqual({ kind: 'any' });
  expect(parsePortPolicy('single')).toEqual({ kind: 'single' });
  expect(parsePortPolicy('50000-50999')).toEqual({ kind: 'range', first: 50000, last: 50999 });
});
