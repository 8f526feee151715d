import { describe, expect, it } from 'vitest';
import { isJunkUuid } from '../../server/inventory/junk-identity.ts';
import { loadInventory } from '../../server/inventory/load.ts';
import { macFault } from '../../server/inventory/mac.ts';
import { simulatedHosts } from '../../server/simulation/hosts.ts';
import { isSimulatedInventory, simulatedInventory } from '../../server/simulation/inventory-text.ts';

describe('simulated hosts', () => {
  it('are the same every time, and no two alike', () => {
    const hosts = simulatedHosts(5000);
    expect(simulatedHosts(10)).toEqual(hosts.slice(0, 10));
    for (const key of ['name', 'mac', 'uuid'] as const)
      expect(new Set(hosts.map((host) => host[key])).size).toBe(5000);
    expect(hosts[0]).toMatchObject({ name: 'sim-001', mac: '02:52:48:00:00:01' });
    expect(hosts[4999]).toMatchObject({ name: 'sim-5000', mac: '02:52:48:00:13:88' });
    for (const { mac, uuid } of hosts) {
      expect(macFault(mac)).toBeUndefined();
      expect(isJunkUuid(uuid)).toBe(false);
    }
    expect(new Set(hosts.slice(0, 4).map(({ firmware }) => firmware)).size).toBe(3);
    expect(hosts.filter(({ firmware }) => firmware === 'bios')).toHaveLength(2500);
  });

  it.each(['ram', 'disk'] as const)('make a right inventory by themselves: %s', (install) => {
    const text = simulatedInventory(simulatedHosts(100), install);
    const { inventory, problems } = loadInventory({
      files: [{ name: 'simulated.yaml', text }],
      problems: [],
    });
    expect(problems).toEqual([]);
    expect(inventory?.hosts).toHaveLength(100);
    expect(inventory?.hosts[1]).toMatchObject({
      pool: 'simulated',
      member: false,
      os: { version: '0.0.0', install },
    });
    expect(text).toContain('railhead simulate --remove');
    expect(isSimulatedInventory(text)).toBe(true);
    expect(isSimulatedInventory(`# mine\n${text}`)).toBe(false);
    expect(isSimulatedInventory('hosts: []\n')).toBe(false);
  });
});
