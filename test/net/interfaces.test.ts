import { describe, expect, it } from 'vitest';
import { localAddresses, parseRoutes } from '../../server/net/interfaces.ts';

const HEAD = 'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT      ';
const row = (name: string, destination: string, metric: number, mask: string): string =>
  `${name}\t${destination}\t0100000A\t0003\t0\t0\t${metric}\t${mask}\t0\t0\t0      `;
const table = (...rows: string[]): string => `${[HEAD, ...rows].join('\n')}\n`;

describe('the interface of the default route', () => {
  it.each<{ what: string; routes: string; name: string | undefined }>([
    { what: 'the only one', routes: table(row('eth0', '00000000', 0, '00000000')), name: 'eth0' },
    {
      what: 'after other routes',
      routes: table(row('docker0', '000011AC', 0, '0000FFFF'), row('eth0', '00000000', 0, '00000000')),
      name: 'eth0',
    },
    {
      what: 'of several, the one with the lowest metric',
      routes: table(row('wlan0', '00000000', 600, '00000000'), row('eth0', '00000000', 100, '00000000')),
      name: 'eth0',
    },
    {
      what: 'not half the world by a VPN',
      routes: table(row('tun0', '00000000', 0, '00000080'), row('eth0', '00000000', 100, '00000000')),
      name: 'eth0',
    },
    { what: 'none', routes: table(row('eth0', '000011AC', 0, '0000FFFF')), name: undefined },
    { what: 'of no table', routes: '', name: undefined },
    { what: 'of an empty table', routes: `${HEAD}\n`, name: undefined },
  ])('is $name: $what', ({ routes, name }) => {
    expect(parseRoutes(routes)).toBe(name);
  });
});

it('finds the addresses of this machine with their networks, loopback marked', () => {
  expect(localAddresses()).toContainEqual({
    interface: 'lo',
    address: '127.0.0.1',
    network: '127.0.0.0/8',
    internal: true,
  });
});
