import fc from 'fast-check';
import { expect, it } from 'vitest';
import { diffLines, formatDiff } from '../../server/document/line-diff.ts';

const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 }).map((lines) => lines.join('\n'));

it('both texts can be read out of it, whatever they are', () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = diffLines(before, after);
      const side = (other: string) => lines.filter(({ sign }) => sign !== other).map((line) => line.text);
      expect(side('+').join('\n')).toBe(before);
      expect(side('-').join('\n')).toBe(after);
    }),
  );
});

it('shows what changed, and some lines around it', () => {
  const before = ['1', '2', '3', '4', '5', '6', '7', '8', '9'].join('\n');
  expect(formatDiff(diffLines(before, before.replace('5', 'five')), 1)).toEqual([
    ' 4',
    '-5',
    '+five',
    ' 6',
    '@@',
  ]);
  expect(formatDiff(diffLines(before, before))).toEqual([]);
});
