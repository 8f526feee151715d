import { expect, it } from 'vitest';
import { SendBuffers } from '../../server/http/send-buffers.ts';

it('uses a buffer again only after it was given back, and has room for large things, too', () => {
  const buffers = new SendBuffers();
  const first = buffers.take(100);
  expect(first.length).toBeGreaterThanOrEqual(100);
  const second = buffers.take(100);
  expect(second).not.toBe(first);
  buffers.giveBack(first);
  expect(buffers.take(200)).toBe(first);
  const large = buffers.take(1024 * 1024);
  expect(large).toHaveLength(1024 * 1024);
  buffers.giveBack(large);
  expect(buffers.take(10)).not.toBe(large);
});
