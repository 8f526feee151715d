import { expect, it } from 'vitest';
import { Due } from '../../server/machine/due.ts';

it('is due once in a while for each thing, however many others there are', () => {
  let time = 0;
  const due = new Due({ clock: () => time, everyMs: 1000 });
  expect([due.isDue('n1'), due.isDue('n1')]).toEqual([true, false]);
  for (let count = 0; count < 9_000; count++) expect(due.isDue(`other ${count}`)).toBe(true);
  expect(due.isDue('n1')).toBe(false);
  time = 1000;
  expect(due.isDue('n1')).toBe(true);
});
