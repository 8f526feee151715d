import { describe, expect, it } from 'vitest';
import {
  type AdvertiseInput,
  chooseAdvertised,
  isLoopback,
  type LocalAddress,
} from '../../server/net/advertise.ts';

const local = (name: string, address: string, network: string): LocalAddress => ({
  interface: name,
  address,
  network,
  internal: name === 'lo',
});
const LO = local('lo', '127.0.0.1', '127.0.0.0/8');
const OFFICE = local('eth0', '192.168.1.5', '192.168.1.0/24');
const RACK = local('eth1', '10.0.0.5', '10.0.0.0/24');
const RACK6 = local('eth1', 'fd00::5', 'fd00::/64');
const LINK6 = local('eth1', 'fe80::5', 'fe80::/64');

const LOOPBACK_ONLY =
  'Only the loopback address was found, which no other machine can reach: set --advertise.';
const far = (count: number, address: string): string =>
  `No host address of the inventory (${count} given) is in the network of ${address}. If the hosts don't reach it through a router, set --advertise.`;

interface Situation extends Partial<AdvertiseInput> {
  what: string;
  url: string;
  reason: string;
  warnings?: string[];
}

describe('the advertised URL', () => {
  it.each<Situation>([
    {
      what: 'an interface reaches the hosts',
      local: [LO, OFFICE, RACK],
      hosts: ['10.0.0.11', '10.0.0.12'],
      defaultInterface: 'eth0',
      url: 'http://10.0.0.5:8080',
      reason: "eth1 reaches 2 of the inventory's hosts",
    },
    {
      what: 'two interfaces reach hosts: the one with more of them',
      local: [LO, OFFICE, RACK],
      hosts: ['192.168.1.20', '10.0.0.11', '10.0.0.12'],
      url: 'http://10.0.0.5:8080',
      reason: "eth1 reaches 2 of the inventory's hosts",
    },
    {
      what: 'no host has an address: the default route decides',
      local: [LO, OFFICE, RACK],
      defaultInterface: 'eth1',
      url: 'http://10.0.0.5:8080',
      reason: 'eth1 has the default route',
    },
    {
      what: 'there is no default route: the first interface',
      local: [LO, OFFICE, RACK],
      url: 'http://192.168.1.5:8080',
      reason: 'eth0 is the first interface',
    },
    {
      what: 'the hosts are somewhere else',
      local: [LO, OFFICE],
      hosts: ['10.9.0.11'],
      defaultInterface: 'eth0',
      url: 'http://192.168.1.5:8080',
      reason: 'eth0 has the default route',
      warnings: [far(1, '192.168.1.5')],
    },
    {
      what: 'there is only loopback',
      local: [LO],
      hosts: ['10.0.0.11'],
      url: 'http://127.0.0.1:8080',
      reason: 'there is no other interface',
      warnings: [LOOPBACK_ONLY],
    },
    {
      what: 'there is nothing at all',
      url: 'http://127.0.0.1:8080',
      reason: 'there is no other interface',
      warnings: [LOOPBACK_ONLY],
    },
    {
      what: 'it listens on one address',
      bind: '192.168.1.5',
      local: [LO, OFFICE, RACK],
      hosts: ['192.168.1.20'],
      url: 'http://192.168.1.5:8080',
      reason: 'the address it listens on',
    },
    {
      what: 'it listens on an address that is not in the network of the hosts',
      bind: '192.168.1.5',
      local: [LO, OFFICE, RACK],
      hosts: ['10.0.0.11', '10.0.0.12'],
      url: 'http://192.168.1.5:8080',
      reason: 'the address it listens on',
      warnings: [far(2, '192.168.1.5')],
    },
    {
      what: 'it listens on loopback',
      bind: '127.0.0.1',
      local: [LO, RACK],
      hosts: ['10.0.0.11'],
      url: 'http://127.0.0.1:8080',
      reason: 'the address it listens on',
      warnings: ['It listens on 127.0.0.1 only, which no other machine can reach: set --bind.'],
    },
    {
      what: 'it listens on an IPv6 address',
      bind: 'fd00::5',
      local: [RACK6],
      url: 'http://[fd00::5]:8080',
      reason: 'the address it listens on',
    },
    {
      what: 'it listens on every address, and hosts have IPv6',
      bind: '::',
      local: [LINK6, RACK6, OFFICE],
      hosts: ['fd00::11'],
      url: 'http://[fd00::5]:8080',
      reason: "eth1 reaches 1 of the inventory's hosts",
    },
    {
      what: 'it listens on IPv4 only, and hosts have IPv6',
      bind: '0.0.0.0',
      local: [RACK6, OFFICE],
      hosts: ['fd00::11'],
      defaultInterface: 'eth0',
      url: 'http://192.168.1.5:8080',
      reason: 'eth0 has the default route',
      warnings: [far(1, '192.168.1.5')],
    },
    {
      what: 'IPv4 and IPv6 would do: firmware prefers IPv4',
      bind: '::',
      local: [RACK6, RACK],
      defaultInterface: 'eth1',
      url: 'http://10.0.0.5:8080',
      reason: 'eth1 has the default route',
    },
    {
      what: 'an address is set',
      wanted: '10.0.0.5',
      local: [RACK],
      url: 'http://10.0.0.5:8080',
      reason: 'set by --advertise',
    },
    {
      what: 'an address with a port is set',
      wanted: '10.0.0.5:9000',
      local: [RACK],
      url: 'http://10.0.0.5:9000',
      reason: 'set by --advertise',
    },
    {
      what: 'an address with port 80 is set',
      wanted: '10.0.0.5:80',
      local: [RACK],
      url: 'http://10.0.0.5',
      reason: 'set by --advertise',
    },
    {
      what: 'a URL is set',
      wanted: 'http://10.0.0.5:9000/',
      local: [RACK],
      url: 'http://10.0.0.5:9000',
      reason: 'set by --advertise',
    },
    {
      what: 'a URL without a port is set',
      wanted: 'https://10.0.0.5',
      local: [RACK],
      url: 'https://10.0.0.5',
      reason: 'set by --advertise',
    },
    {
      what: 'an IPv6 address is set',
      wanted: 'fd00::5',
      local: [RACK6],
      url: 'http://[fd00::5]:8080',
      reason: 'set by --advertise',
    },
    {
      what: 'an IPv6 address in brackets is set',
      wanted: '[fd00::5]',
      local: [RACK6],
      url: 'http://[fd00::5]:8080',
      reason: 'set by --advertise',
    },
    {
      what: 'an IPv6 address with a port is set',
      wanted: '[fd00::5]:80',
      local: [RACK6],
      url: 'http://[fd00::5]',
      reason: 'set by --advertise',
    },
    {
      what: 'a name is set',
      wanted: 'boot.example.org',
      local: [RACK],
      url: 'http://boot.example.org:8080',
      reason: 'set by --advertise',
      warnings: [
        "DHCP's next-server wants an address, but the advertised URL has the name boot.example.org.",
      ],
    },
    {
      what: 'an address of another machine is set',
      wanted: '203.0.113.7',
      local: [RACK],
      url: 'http://203.0.113.7:8080',
      reason: 'set by --advertise',
      warnings: [
        'No interface of this machine has the advertised address 203.0.113.7: right only behind NAT or a proxy.',
      ],
    },
    {
      what: 'loopback is set',
      wanted: 'localhost',
      local: [LO],
      url: 'http://localhost:8080',
      reason: 'set by --advertise',
      warnings: ['The advertised address localhost is a loopback address: no other machine can reach it.'],
    },
  ])('is $url when $what', ({ what: _, url, reason, warnings = [], ...input }) => {
    const advertised = chooseAdvertised({ httpPort: 8080, bind: '0.0.0.0', local: [], hosts: [], ...input });
    expect(advertised).toMatchObject({ url, reason, warnings });
    expect(advertised.address).toBe(new URL(url).hostname.replaceAll(/[[\]]/g, ''));
  });
});

it.each([
  { address: '127.0.0.1', expected: true },
  { address: '127.9.9.9', expected: true },
  { address: '::1', expected: true },
  { address: '::ffff:127.0.0.1', expected: true },
  { address: 'localhost', expected: true },
  { address: '10.127.0.1', expected: false },
  { address: '::', expected: false },
  { address: 'localhost.example.org', expected: false },
])('$address is loopback: $expected', ({ address, expected }) => {
  expect(isLoopback(address)).toBe(expected);
});
