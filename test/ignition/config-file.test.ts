import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { fileIn } from '../../server/ignition/config-file.ts';

const read = (contents: { source?: string; compression?: string }) =>
  fileIn({ ignition: { version: '3.3.0' }, storage: { files: [{ path: '/f', contents }] } }, '/f');
const base64 = (bytes: Buffer) => `data:;base64,${bytes.toString('base64')}`;

it.each([
  ['percent', { source: 'data:,a%20b%0A%C3%A9' }, 'a b\né'],
  ['percent with a comma and a media type', { source: 'data:text/plain;charset=utf-8,a,b' }, 'a,b'],
  ['base64', { source: base64(Buffer.from('a\nb')) }, 'a\nb'],
  ['gzip in base64', { source: base64(gzipSync('a\nb')), compression: 'gzip' }, 'a\nb'],
  ['nothing', { source: 'data:,' }, ''],
  ['from elsewhere: where from', { source: 'http://10.0.0.5/x' }, 'http://10.0.0.5/x\n'],
])('%s', (_what, contents, text) => {
  expect(read(contents)?.toString()).toBe(text);
});

it('bytes that are no UTF-8 stay what they are', () => {
  expect(read({ source: 'data:,%FF%00%80' })).toEqual(Buffer.from([0xff, 0, 0x80]));
});

it('no such file, or one without contents: nothing', () => {
  expect(read({})).toBeUndefined();
  expect(fileIn({ ignition: { version: '3.3.0' } }, '/f')).toBeUndefined();
});

it.each([
  ['no gzip', Buffer.from('not gzip')],
  ['a bomb', gzipSync(Buffer.alloc(65 * 1024 * 1024))],
])('%s is refused, with the name of the file', (_what, bytes) => {
  expect(() => read({ source: base64(bytes), compression: 'gzip' })).toThrow(
    expect.objectContaining({ code: 'RH_CONFIG_UNAVAILABLE', message: expect.stringContaining('/f ') }),
  );
});
