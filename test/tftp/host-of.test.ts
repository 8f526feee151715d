import { expect, it } from 'vitest';
import { InventoryIndex } from '../../server/inventory/index.ts';
import { loadInventory } from '../../server/inventory/load.ts';
import { hostOf } from '../../server/tftp/host-of.ts';

const { inventory } = loadInventory({
  files: [
    {
      name: 'x.yaml',
      text: `
profiles: [{name: p, os: flatcar}]
pools: [{name: w, profile: p}]
hosts:
  - {name: by-mac, pool: w, macs: [52-54-00-AA-BB-01]}
  - {name: by-uuid, pool: w, uuid: 12345678-1234-5678-90ab-cdef01234567}
  - {name: by-ip, pool: w, serial: s1, ip: 10.0.0.7}
`,
    },
  ],
  problems: [],
});
const index = new InventoryIndex(inventory!);

it.each([
  ['pxelinux.cfg/01-52-54-00-aa-bb-01', 'by-mac'],
  ['pxelinux.cfg/12345678-1234-5678-90ab-cdef01234567', 'by-uuid'],
  ['pxelinux.cfg/78563412-3412-7856-90ab-cdef01234567', 'by-uuid'],
  ['pxelinux.cfg/default', undefined],
  ['lpxelinux.0', undefined],
])('%s is asked for by %s', (file, host) => {
  expect(hostOf(index, '10.0.0.99', file)).toBe(host);
});

it('the address tells when the name doesn’t', () => {
  expect(hostOf(index, '10.0.0.7', 'lpxelinux.0')).toBe('by-ip');
});
