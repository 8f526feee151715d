import { expect, it } from 'vitest';
import { seeAsker } from '../../server/net/asker.ts';
import { parseArpTable } from '../../server/net/neighbours.ts';

const local = [
  { interface: 'lo', address: '127.0.0.1', network: '127.0.0.0/8', internal: true },
  { interface: 'eth0', address: '10.0.0.5', network: '10.0.0.0/24', internal: false },
  { interface: 'eth0', address: 'fd00::5', network: 'fd00::/64', internal: false },
];
const see = (address: string) => seeAsker(address, local, () => '52:54:00:12:34:01');

it.each([
  { address: '10.0.0.9', isAttached: true },
  { address: '::ffff:10.0.0.9', isAttached: true },
  { address: '10.0.1.9', isAttached: false },
  { address: '10.0.0.5', isAttached: false },
  { address: '127.0.0.1', isAttached: false },
  { address: 'fd00::9', isAttached: false },
])('$address is on a link of this machine: $isAttached', ({ address, isAttached }) => {
  expect(see(address)).toMatchObject({ isAttached });
  expect(see(address).mac !== undefined).toBe(isAttached);
});

it("reads Linux's table, without entries that are not complete", () => {
  const table = `IP address       HW type     Flags       HW address            Mask     Device
10.0.0.9         0x1         0x2         52:54:00:12:34:AB     *        eth0
10.0.0.10        0x1         0x0         00:00:00:00:00:00     *        eth0
10.0.0.11        0x1         0x6         52:54:00:12:34:02     *        eth0
`;
  expect([...parseArpTable(table)]).toEqual([
    ['10.0.0.9', '52:54:00:12:34:ab'],
    ['10.0.0.11', '52:54:00:12:34:02'],
  ]);
});
