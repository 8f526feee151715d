import { describe, expect } from 'vitest';
import { ALL_STAGES, filesOf, stagesOf } from '../support/boot-facts.ts';
import { labTest } from '../support/lab.ts';
import { findLabTools } from '../support/lab-tools.ts';

const tools = await findLabTools();

const REPEATED_UUID = '5a1dbeef-0b0e-4c0d-8a11-0123456789ab';
const OWN_UUID = 'c0ffee01-2345-4678-9abc-def012345678';
const THREE_CARDS = ['52:54:00:12:34:31', '52:54:00:12:34:32', '52:54:00:12:34:33'] as const;

/** What a machine of this host gets through when all goes well. */
const allOf = (host: string): string[] => ALL_STAGES.map((stage) => `${host} ${stage}`);

describe.skipIf(tools === undefined).concurrent('a machine is known for the host that it is', () => {
  const test = labTest({
    tools,
    hosts: `
  - { name: twin-1, pool: ram, macs: ['52:54:00:12:34:11'], uuid: ${REPEATED_UUID} }
  - { name: twin-2, pool: ram, macs: ['52:54:00:12:34:12'], uuid: ${REPEATED_UUID} }
  - { name: three-cards, pool: ram, macs: ${JSON.stringify(THREE_CARDS)} }
  - { name: uuid-only, pool: ram, uuid: ${OWN_UUID} }
`,
    // Its NIC can't be checked.
    env: { RAILHEAD_HOSTS_WITHOUT_MACS: 'accept' },
    dhcp: [
      // Through pxelinux, which asks by UUID first; the other twin says all it knows about itself at once.
      ...['52:54:00:12:34:11', THREE_CARDS[2], '52:54:00:12:34:21'].map(
        (mac) => `dhcp-host=${mac},set:plain`,
      ),
      'dhcp-boot=tag:plain,tag:arch0,lpxelinux.0,,10.55.0.1',
    ],
  });

  test('by its MAC, when two that boot at once have one and the same UUID', async ({ boot }) => {
    const [first, second] = await Promise.all([
      boot({ firmware: 'bios', mac: '52:54:00:12:34:11', uuid: REPEATED_UUID }),
      boot({ firmware: 'bios', mac: '52:54:00:12:34:12', uuid: REPEATED_UUID }),
    ]);
    expect(stagesOf(first)).toEqual(allOf('twin-1'));
    expect(stagesOf(second)).toEqual(allOf('twin-2'));
  });

  test('by the MAC of the third of its network cards, when it boots from that one', async ({ boot }) => {
    const booted = await boot({ firmware: 'bios', mac: THREE_CARDS[2], cards: THREE_CARDS });
    expect(filesOf(booted)).toContain('pxelinux.cfg/01-52-54-00-12-34-33');
    expect(stagesOf(booted)).toEqual(allOf('three-cards'));
  });

  test('by its UUID alone, which pxelinux writes in another byte order', async ({ boot }) => {
    const booted = await boot({ firmware: 'bios', mac: '52:54:00:12:34:21', uuid: OWN_UUID });
    expect(filesOf(booted)).toContain('pxelinux.cfg/01eeffc0-4523-7846-9abc-def012345678');
    expect(stagesOf(booted)).toEqual(allOf('uuid-only'));
  });
});
