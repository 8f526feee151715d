import { describe, expect, it } from 'vitest';
import { RailheadError } from '../../server/errors.ts';
import { InventoryIndex } from '../../server/inventory/index.ts';
import { loadInventory } from '../../server/inventory/load.ts';
import { describeHost, findHost, type Observed, summariseHost } from '../../server/machine/describe-host.ts';

const TEXT = `
clusters: [{name: lab, kubernetes: 1.36.4}]
profiles: [{name: flatcar, os: flatcar, version: 4593.2.5, arch: arm64}]
pools:
  - {name: control, cluster: lab, role: control-plane, profile: flatcar, replicas: 1}
  - {name: spare, profile: flatcar}
hosts:
  - {name: n1, pool: control, ip: 10.0.0.11, macs: [52:54:00:12:34:01]}
  - {name: n2, pool: control, uuid: 4c4c4544-0042-3510-8052-b4c04f384332}
  - {name: n3, pool: spare, serial: 0042}
`;
const { inventory } = loadInventory({ files: [{ name: 'lab.yaml', text: TEXT }], problems: [] });
const index = new InventoryIndex(inventory!);

describe('a host', () => {
  it.each([
    { by: 'its name', wanted: 'n1', name: 'n1' },
    { by: 'its MAC address', wanted: '52:54:00:12:34:01', name: 'n1' },
    { by: 'its MAC address as Windows writes it', wanted: '52-54-00-12-34-01', name: 'n1' },
    { by: 'its MAC address as switches write it', wanted: '5254.0012.3401', name: 'n1' },
    { by: 'its UUID', wanted: '4C4C4544-0042-3510-8052-B4C04F384332', name: 'n2' },
    { by: 'its UUID in the other byte order', wanted: '44454c4c-4200-1035-8052-b4c04f384332', name: 'n2' },
    { by: 'its serial number', wanted: '0042', name: 'n3' },
  ])('is found by $by', ({ wanted, name }) => {
    expect(findHost(index, wanted).name).toBe(name);
  });

  it.each([
    { wanted: 'N1', message: 'There is no host "N1" in the inventory; did you mean "n1"?' },
    { wanted: 'rack7', message: 'There is no host "rack7" in the inventory' },
    { wanted: '52:54:00:ff:ff:ff', message: 'There is no host "52:54:00:ff:ff:ff" in the inventory' },
  ])('that is not there is said so: $wanted', ({ wanted, message }) => {
    expect(() => findHost(index, wanted)).toThrow(
      expect.objectContaining<Partial<RailheadError>>({ code: 'RH_HOST_UNKNOWN', message, status: 404 }),
    );
    expect(() => findHost(index, wanted)).toThrow(RailheadError);
  });

  it('in one line says what it is and what it runs', () => {
    expect(summariseHost(index.host('n1')!)).toEqual({
      name: 'n1',
      state: 'assigned',
      stage: null,
      overdue: null,
      candidates: [],
      cluster: 'lab',
      pool: 'control',
      role: 'control-plane',
      ip: '10.0.0.11',
      macs: ['52:54:00:12:34:01'],
      os: 'flatcar stable 4593.2.5 arm64',
      kubernetes: '1.36.4',
    });
    expect(summariseHost(index.host('n3')!)).toMatchObject({
      cluster: null,
      kubernetes: null,
      ip: null,
      macs: [],
    });
  });

  it.each([
    { name: 'n1', state: 'assigned', why: 'it is one of the replicas of its pool' },
    { name: 'n2', state: 'approved', why: 'its pool has its replicas' },
    { name: 'n3', state: 'approved', why: 'its pool is in no cluster' },
  ])('$name starts as $state: $why', ({ name, state }) => {
    const host = index.host(name)!;
    expect(describeHost(host)).toEqual({
      name,
      state,
      stage: null,
      overdue: null,
      candidates: [],
      spec: host,
    });
  });

  it('that was seen is what was seen of it', () => {
    const observed: Observed = {
      state: 'netbooting',
      stage: 'kernel-sent',
      overdue: 'nothing heard',
      candidates: [],
    };
    expect(summariseHost(index.host('n1')!, observed)).toMatchObject(observed);
    expect(describeHost(index.host('n1')!, observed)).toMatchObject(observed);
  });
});
