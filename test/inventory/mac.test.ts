import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { macFault, normaliseMac } from '../../server/inventory/mac.ts';

const bytes = fc.uint8Array({ minLength: 6, maxLength: 6 });
const hex = (address: Uint8Array): string => Buffer.from(address).toString('hex');
const groups = (text: string, size: number, separator: string): string =>
  text.match(new RegExp(`.{${size}}`, 'g'))!.join(separator);

/** All that people, firmware and switches write. */
const spellings = (address: Uint8Array): string[] =>
  [
    groups(hex(address), 2, ':'),
    groups(hex(address), 2, '-'),
    groups(hex(address), 4, '.'),
    groups(hex(address), 6, '-'),
    hex(address),
  ].flatMap((text) => [text, text.toUpperCase(), mixCase(text)]);

function mixCase(text: string): string {
  return [...text].map((letter, index) => (index % 2 === 0 ? letter.toUpperCase() : letter)).join('');
}

describe('a MAC address', () => {
  it('is the same in every spelling', () => {
    fc.assert(
      fc.property(bytes, (address) => {
        const normal = groups(hex(address), 2, ':');
        for (const text of spellings(address)) expect(normaliseMac(text)).toBe(normal);
      }),
    );
  });

  it.each([
    '',
    'nonsense',
    '52:54:00:12:34',
    '52:54:00:12:34:01:02',
    '52:54:00:12:34:0g',
    '52:54:00-12-34-01',
    '5:54:00:12:34:01',
    '5254.0012:3401',
    '525400123401 ',
    '52540012340',
    '52:54:00:12:34:01\n',
    '4c4c4544-0042-3510-8052-b4c04f384332',
  ])('is not %j', (text) => {
    expect(normaliseMac(text)).toBeUndefined();
  });

  it.each([
    { mac: '52:54:00:12:34:01', fault: undefined },
    { mac: '00:00:00:00:00:01', fault: undefined },
    { mac: '00:00:00:00:00:00', fault: 'is all zeros' },
    { mac: '01:00:5e:00:00:01', fault: 'is a multicast address' },
    { mac: 'ff:ff:ff:ff:ff:ff', fault: 'is a multicast address' },
  ])('$mac as the address of a card: $fault', ({ mac, fault }) => {
    expect(macFault(mac)).toBe(fault);
  });
});
