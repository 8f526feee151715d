import { expect, it } from 'vitest';
import { toNetascii } from '../../server/tftp/netascii.ts';

it.each([
  ['plain', 'plain'],
  ['a\nb\n', 'a\r\nb\r\n'],
  ['a\rb', 'a\r\0b'],
  ['a\r\nb', 'a\r\0\r\nb'],
  ['', ''],
])('%j goes out as %j', (text, sent) => {
  expect(toNetascii(Buffer.from(text)).toString()).toBe(sent);
});
