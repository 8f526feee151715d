import { expect, it } from 'vitest';
import { Recent } from '../../server/templating/recent.ts';

const item = (name: string) => ({ name });
const keepAll = (recent: Recent<{ name: string }>, ...names: string[]): void => {
  for (const name of names) recent.keep(name, item(name));
};
const known = (recent: Recent<{ name: string }>, ...names: string[]): string[] =>
  names.filter((name) => recent.get(name)?.name === name);

it('never holds more than its size, and what was used lately stays', () => {
  const recent = new Recent<{ name: string }>(4);
  keepAll(recent, 'a', 'b', 'c', 'd');
  // Asking moves it: it outlives the one that is as old.
  expect(known(recent, 'a')).toEqual(['a']);
  keepAll(recent, 'e');
  expect(known(recent, 'b')).toEqual([]);
  expect(known(recent, 'a', 'e')).toEqual(['a', 'e']);
  keepAll(recent, 'f', 'g', 'h', 'i');
  expect(known(recent, 'a', 'e')).toEqual([]);
});

it('counts by the size that it is told', () => {
  const recent = new Recent<{ name: string }>(10, (key, { name }) => key.length + name.length);
  keepAll(recent, 'a', 'bb', 'ccc');
  // 2 + 4 had no room together with 6, which is more than half.
  expect(known(recent, 'a', 'bb', 'ccc')).toEqual(['a', 'bb']);
  keepAll(recent, 'dd', 'ee');
  expect(known(recent, 'dd', 'ee')).toEqual(['dd', 'ee']);
  expect(known(recent, 'a')).toEqual([]);
});

it('remembers that there is nothing, which is not the same as to know nothing', () => {
  const recent = new Recent<null>(4);
  recent.keep('a', null);
  expect([recent.get('a'), recent.get('b')]).toEqual([null, undefined]);
});
