import { expect, it } from 'vitest';
import { networkUnit } from '../../server/ignition/network-unit.ts';
import { hostOf, lab } from '../inventory/make.ts';

const unit = (more: string) =>
  networkUnit(
    hostOf(lab(`{name: n2, pool: workers, macs: [52:54:00:12:34:02, 52:54:00:12:34:03]${more}}`), 'n2'),
  );

it('an address by hand, on the first card, without DHCP', () => {
  const network =
    '{prefixLength: 24, gateway: 10.0.0.1, dns: [10.0.0.2, "fd00::2"], domains: [a.example, b.example]}';
  expect(unit(`, ip: 10.0.0.12, network: ${network}`)).toBe(
    `[Match]
MACAddress=52:54:00:12:34:02

[Network]
DHCP=no
Address=10.0.0.12/24
Gateway=10.0.0.1
DNS=10.0.0.2
DNS=fd00::2
Domains=a.example b.example
`,
  );
});

it('as little as is said; IPv6, too', () => {
  expect(unit(', ip: fd00::12, network: {prefixLength: 64}')).toBe(
    '[Match]\nMACAddress=52:54:00:12:34:02\n\n[Network]\nDHCP=no\nAddress=fd00::12/64\n',
  );
});

it.each(['', ', ip: 10.0.0.12'])(
  'without an address and the length of its prefix there is none (%j)',
  (more) => {
    expect(unit(more)).toBeUndefined();
  },
);
