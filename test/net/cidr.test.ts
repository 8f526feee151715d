import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contains, networkOf, normaliseIp, overlaps, parseCidr, parseIp } from '../../server/net/cidr.ts';

function cidr(text: string) {
  const parsed = parseCidr(text);
  if ('fault' in parsed) throw new Error(parsed.fault);
  return parsed.cidr;
}

describe('an address', () => {
  it.each<{ text: string; value: bigint | undefined }>([
    { text: '0.0.0.0', value: 0n },
    { text: '10.0.0.5', value: 0x0a000005n },
    { text: '255.255.255.255', value: 0xffffffffn },
    { text: '::', value: 0n },
    { text: '::1', value: 1n },
    { text: 'fd00::1:2', value: (0xfd00n << 112n) + 0x10002n },
    { text: '1:2:3:4:5:6:7:8', value: 0x00010002000300040005000600070008n },
    { text: '::ffff:10.0.0.5', value: 0xffff0a000005n },
    { text: '1::', value: 1n << 112n },
    { text: 'fe80::1%eth0', value: undefined },
    { text: '10.0.0', value: undefined },
    { text: '10.0.0.256', value: undefined },
    { text: '10.0.0.05', value: undefined },
    { text: '10.0.0.5/24', value: undefined },
    { text: ' 10.0.0.5', value: undefined },
    { text: 'localhost', value: undefined },
    { text: '1::2::3', value: undefined },
    { text: '', value: undefined },
  ])('$text is the number $value', ({ text, value }) => {
    expect(parseIp(text)?.value).toBe(value);
    expect(parseIp(text)?.version).toBe(value === undefined ? undefined : text.includes(':') ? 6 : 4);
  });

  it.each<{ text: string; normal: string | undefined }>([
    { text: '10.0.0.5', normal: '10.0.0.5' },
    { text: 'FD00:0:0::1', normal: 'fd00::1' },
    { text: '::', normal: '::' },
    { text: '::1', normal: '::1' },
    { text: '1::', normal: '1::' },
    { text: '0:0:0:1:0:0:0:0', normal: '0:0:0:1::' },
    { text: '1:0:0:2:0:0:0:3', normal: '1:0:0:2::3' },
    { text: '1:0:0:2:0:0:3:4', normal: '1::2:0:0:3:4' },
    { text: '1:0:2:3:4:5:6:7', normal: '1:0:2:3:4:5:6:7' },
    { text: '10:0:0:20:0:0:0:30', normal: '10:0:0:20::30' },
    { text: '::ffff:10.0.0.5', normal: '::ffff:a00:5' },
    { text: 'nonsense', normal: undefined },
  ])('$text is spelt $normal', ({ text, normal }) => {
    expect(normaliseIp(text)).toBe(normal);
  });

  it('has one spelling, whatever was given', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        const normal = normaliseIp(text)!;
        expect(parseIp(normal)).toEqual(parseIp(text));
        expect(normaliseIp(normal)).toBe(normal);
        expect(normaliseIp(text.toUpperCase())).toBe(normal);
      }),
    );
  });

  it('is spelt as the rest of the world does it', () => {
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        expect(`[${normaliseIp(text)}]`).toBe(new URL(`http://[${text}]`).hostname);
      }),
    );
  });
});

describe('a network', () => {
  it.each([
    { text: '10.244.0.0/16', normal: '10.244.0.0/16' },
    { text: '0.0.0.0/0', normal: '0.0.0.0/0' },
    { text: '10.0.0.5/32', normal: '10.0.0.5/32' },
    { text: 'FD00:0::/48', normal: 'fd00::/48' },
    { text: '::/0', normal: '::/0' },
    { text: 'fd00::1/128', normal: 'fd00::1/128' },
  ])('$text is read as $normal', ({ text, normal }) => {
    expect(cidr(text).text).toBe(normal);
  });

  it.each([
    { text: '10.244.0.0', fault: 'expected a network such as 10.244.0.0/16' },
    { text: '10.244.0.0/', fault: 'expected a network such as 10.244.0.0/16' },
    { text: '10.244.0.0/16/8', fault: 'expected a network such as 10.244.0.0/16' },
    { text: '10.244.0.0/255.255.0.0', fault: 'expected a network such as 10.244.0.0/16' },
    { text: '10.244.0.0/-1', fault: 'expected a network such as 10.244.0.0/16' },
    { text: '10.244/16', fault: 'expected a network such as 10.244.0.0/16' },
    { text: 'pods', fault: 'expected a network such as 10.244.0.0/16' },
    { text: '10.244.0.0/33', fault: 'expected a prefix of at most /32' },
    { text: 'fd00::/129', fault: 'expected a prefix of at most /128' },
    { text: '10.244.7.1/16', fault: 'expected a network, such as 10.244.0.0/16, and not an address in it' },
    { text: 'fd00::5/64', fault: 'expected a network, such as fd00::/64, and not an address in it' },
  ])('$text is none: $fault', ({ text, fault }) => {
    expect(parseCidr(text)).toEqual({ fault });
  });

  it.each([
    { a: '10.96.0.0/12', b: '10.100.0.0/16', expected: true },
    { a: '10.0.0.0/24', b: '10.0.1.0/24', expected: false },
    { a: '10.0.0.0/24', b: '10.0.0.0/24', expected: true },
    { a: '0.0.0.0/0', b: '203.0.113.0/24', expected: true },
    { a: 'fd00::/48', b: 'fd00:0:0:1::/64', expected: true },
    { a: 'fd00::/64', b: 'fd00:0:0:1::/64', expected: false },
    { a: '0.0.0.0/0', b: '::/0', expected: false },
  ])('$a overlaps with $b: $expected', ({ a, b, expected }) => {
    expect(overlaps(cidr(a), cidr(b))).toBe(expected);
    expect(overlaps(cidr(b), cidr(a))).toBe(expected);
  });

  it.each([
    { network: '10.0.0.0/24', address: '10.0.0.0', expected: true },
    { network: '10.0.0.0/24', address: '10.0.0.255', expected: true },
    { network: '10.0.0.0/24', address: '10.0.1.0', expected: false },
    { network: 'fd00::/64', address: 'fd00::ffff', expected: true },
    { network: 'fd00::/64', address: 'fd00:0:0:1::', expected: false },
    { network: '0.0.0.0/0', address: '::1', expected: false },
    { network: '0.0.0.0/0', address: 'localhost', expected: false },
  ])('$network contains $address: $expected', ({ network, address, expected }) => {
    expect(contains(cidr(network), address)).toBe(expected);
  });

  it.each([
    { interfaceCidr: '10.0.0.5/24', network: '10.0.0.0/24' },
    { interfaceCidr: '10.0.0.5/32', network: '10.0.0.5/32' },
    { interfaceCidr: '203.0.113.9/0', network: '0.0.0.0/0' },
    { interfaceCidr: 'fd00::1:5/64', network: 'fd00::/64' },
    { interfaceCidr: 'nonsense', network: 'nonsense' },
  ])('is found from an interface: $interfaceCidr is in $network', ({ interfaceCidr, network }) => {
    expect(networkOf(interfaceCidr)).toBe(network);
  });

  it('of an interface contains its address, and is a network', () => {
    const anywhere = fc.oneof(
      fc.tuple(fc.ipV4(), fc.integer({ min: 0, max: 32 })),
      fc.tuple(fc.ipV6(), fc.integer({ min: 0, max: 128 })),
    );
    fc.assert(
      fc.property(anywhere, ([address, prefix]) => {
        expect(contains(cidr(networkOf(`${address}/${prefix}`)), address)).toBe(true);
      }),
    );
  });
});
