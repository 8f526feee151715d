import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect } from 'vitest';
import { ALL_STAGES, INSTALLER_STAGES, stageEvents, stagesOf } from '../support/boot-facts.ts';
import { labTest } from '../support/lab.ts';
import { findLabTools } from '../support/lab-tools.ts';
import { SAYS_DISK } from '../support/machine.ts';
import { until } from '../support/poll.ts';

const tools = await findLabTools();

const PLAIN_STRANGER = '52:54:00:12:34:a1';
const IPXE_STRANGER = '52:54:00:12:34:a2';
const UEFI_STRANGER = '52:54:00:12:34:a3';
const GRUB_STRANGER = '52:54:00:12:34:a4';

describe.skipIf(tools === undefined)('what a machine gets', () => {
  const test = labTest({
    tools,
    hosts: `
  - { name: restarted, pool: ram, macs: ['52:54:00:12:34:01'] }
  - { name: on-disk, pool: disk, disk: /dev/vda, macs: ['52:54:00:12:34:02'] }
`,
    dhcp: [
      `dhcp-host=${PLAIN_STRANGER},set:plain`,
      'dhcp-boot=tag:plain,tag:arch0,lpxelinux.0,,10.55.0.1',
      `dhcp-host=${GRUB_STRANGER},set:grub`,
      'dhcp-boot=tag:grub,tag:arch7,grubx64.efi,,10.55.0.1',
    ],
  });

  test.concurrent('a host with a disk is installed once, boots its disk from then on, and is installed anew when it is told to be', async ({
    lab,
    boot,
  }) => {
    const spec = { firmware: 'bios', mac: '52:54:00:12:34:02' } as const;
    const installed = INSTALLER_STAGES.map((stage) => `on-disk ${stage}`);
    expect(stagesOf(await boot(spec))).toEqual(installed);

    const local = await boot(spec);
    expect(local.end).toBe('disk');
    expect(local.serial).toContain(SAYS_DISK);
    const itsOwn = local.events.filter(({ host, kind }) => host === 'on-disk' && kind.startsWith('boot.'));
    expect(itsOwn).toEqual([]);

    expect(await lab.cli('reinstall', 'on-disk')).toMatchObject({ code: 0, stderr: '' });
    expect(stagesOf(await boot(spec))).toEqual(installed);
    expect((await boot(spec)).end).toBe('disk');
  });

  test.concurrent.for([
    { firmware: 'bios', loader: 'lpxelinux', mac: PLAIN_STRANGER },
    { firmware: 'bios', loader: 'iPXE', mac: IPXE_STRANGER },
    { firmware: 'uefi', loader: 'iPXE', mac: UEFI_STRANGER },
    ...(tools?.hasGrub ? [{ firmware: 'uefi', loader: 'GRUB', mac: GRUB_STRANGER } as const] : []),
  ] as const)(
    'a machine that nobody knows boots its own disk and is listed ($firmware, $loader)',
    async ({ firmware, mac }, { lab, boot }) => {
      const { end, serial, events } = await boot({ firmware, mac });
      expect(end).toBe('disk');
      expect(serial).toContain(`Railhead: ${mac} is not in the inventory`);
      expect(serial).toContain(SAYS_DISK);
      expect(events).toContainEqual(
        expect.objectContaining({ kind: 'boot.unknown', data: expect.objectContaining({ mac }) }),
      );
      const { stdout } = await lab.cli('machines', '--json');
      expect(JSON.parse(stdout)).toContainEqual(expect.objectContaining({ name: mac }));
    },
  );

  test('a boot goes on although the server was killed between the kernel and the configuration', async ({
    lab,
    boot,
  }) => {
    const after = (await lab.events()).at(-1)!.id;
    const booted = await boot({ firmware: 'bios', mac: '52:54:00:12:34:01' }, async () => {
      await until(
        'the initrd was sent',
        async () => stageEvents(await lab.events(after)).some(({ data }) => data.stage === 'initrd-sent'),
        60_000,
      );
      await lab.appliance.kill();
      await sleep(2000);
      await lab.startServer();
    });
    expect(booted.end).toBe('off');
    expect(stagesOf(booted)).toEqual(ALL_STAGES.map((stage) => `restarted ${stage}`));
    const kinds = booted.events.map(({ kind, data }) => ('stage' in data ? data.stage : kind));
    expect(kinds.indexOf('server.started')).toBeGreaterThan(kinds.indexOf('initrd-sent'));
    expect(kinds.indexOf('server.started')).toBeLessThan(kinds.indexOf('pointer-sent'));
  });
});
