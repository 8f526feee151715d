import { describe, expect, it } from 'vitest';
import { matchesHash, PointerFault, readPointer } from '../../server/simulation/pointer.ts';

const pointer = (ignition: object): string => JSON.stringify({ ignition: { version: '3.3.0', ...ignition } });

describe('an Ignition config', () => {
  it('may be all there is', () => {
    expect(readPointer(pointer({}))).toBeUndefined();
  });

  it('may point to another, with a CA, headers and a hash', () => {
    const text = pointer({
      config: {
        replace: {
          source: 'https://10.0.0.5:8443/boot/x/config.ign',
          httpHeaders: [{ name: 'Authorization', value: 'Bearer x' }],
          verification: { hash: 'sha512-00' },
        },
      },
      security: {
        tls: {
          certificateAuthorities: [
            { source: 'data:,-----BEGIN%20CERTIFICATE-----%0A' },
            { source: `data:text/plain;charset=utf-8;base64,${Buffer.from('PEM').toString('base64')}` },
          ],
        },
      },
    });
    expect(readPointer(text)).toEqual({
      url: 'https://10.0.0.5:8443/boot/x/config.ign',
      headers: { Authorization: 'Bearer x' },
      hash: 'sha512-00',
      authorities: ['-----BEGIN CERTIFICATE-----\n', 'PEM'],
    });
  });

  it.each(['', '<html>', '{}', 'null', '{"ignition":{"version":"2.3.0"}}'])(
    'that is none is a fault: %j',
    (text) => {
      expect(() => readPointer(text)).toThrow(PointerFault);
    },
  );

  it('is checked by its hash', () => {
    const sha256 = 'sha256-2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';
    expect(matchesHash(Buffer.from('hello'), sha256)).toBe(true);
    expect(matchesHash(Buffer.from('hallo'), sha256)).toBe(false);
    expect(matchesHash(Buffer.from('hello'), 'md5-5d41402abc4b2a76b9719d911017c592')).toBe(false);
  });
});
