import { expect, it } from 'vitest';
import { pointerConfig } from '../../server/ignition/pointer.ts';
import { TlsWatch } from '../../server/ignition/tls-watch.ts';
import { validateIgnition } from '../../server/ignition/validate.ts';

const INPUT = { url: 'https://10.0.0.5:8443/boot/t/config.ign', token: 't', authority: 'PEM\n' };

it.each([undefined, `sha512-${'a'.repeat(128)}`])(
  'is right in the eyes of Ignition, with and without a hash',
  (hash) => {
    const pointer = pointerConfig({ ...INPUT, hash });
    expect(validateIgnition(JSON.stringify(pointer))).toEqual([]);
    expect('verification' in pointer.ignition.config.replace).toBe(hash !== undefined);
  },
);

it('a failed handshake is told of who was sent there, as long as it is expected', () => {
  let now = 0;
  const watch = new TlsWatch(() => now);
  expect(watch.failed('10.0.0.9', 'x')).toBeUndefined();
  watch.expect('10.0.0.9', { host: 'n1', attempt: 'a1' });
  watch.expect('10.0.0.9', { host: 'n2', attempt: 'a2' });
  expect(watch.failed('10.0.0.9', 'unknown ca')).toEqual({
    kind: 'boot.tls-failed',
    host: 'n2',
    attempt: 'a2',
    data: { address: '10.0.0.9', reason: 'unknown ca' },
  });
  now = 16 * 60_000;
  expect(watch.failed('10.0.0.9', 'unknown ca')).toBeUndefined();
});

it('remembers only so many', () => {
  const watch = new TlsWatch(() => 0);
  for (let n = 0; n < 3000; n++) watch.expect(`10.0.${n >> 8}.${n & 255}`, { host: 'n1', attempt: 'a' });
  expect(watch.failed('10.0.0.0', 'x')).toBeUndefined();
  expect(watch.failed('10.0.11.183', 'x')).toBeDefined();
});
