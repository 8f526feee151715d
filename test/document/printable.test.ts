import { expect, it } from 'vitest';
import { formatTable } from '../../server/cli/table.ts';
import { printable } from '../../server/document/printable.ts';
import { describeEvent } from '../../server/events/describe.ts';

it.each([
  ['SN-7 ä 漢 😀', 'SN-7 ä 漢 😀'],
  ['a\r\n\tb', 'a b'],
  ['\u001b]0;title\u0007', '\u{fffd}]0;title\u{fffd}'],
  ['\u009b31m', '\u{fffd}31m'],
  ['n\u202e1\u2028', 'n\u{fffd}1\u{fffd}'],
  ['\ud800', '\u{fffd}'],
])('%j is shown as %j', (text, shown) => {
  expect(printable(text)).toBe(shown);
});

it('what a machine says of itself commands no terminal and forges no line, in an event or in a table', () => {
  const serial = 'SN\u001b[2J\nforged';
  const event = describeEvent({ id: 1, at: 0, kind: 'boot.unknown', data: { serial } });
  const table = formatTable(['serial', 'vendor'], [[serial, '-']]);
  for (const text of [event, table]) expect(text).toContain('SN\u{fffd}[2J forged');
  expect(table.split('\n')).toHaveLength(2);
});
