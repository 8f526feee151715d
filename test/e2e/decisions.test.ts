import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { ALL_STAGES, sharedLab, stagesOf } from '../support/lab.ts';
import { findLabTools } from '../support/lab-tools.ts';
import { SAYS_DISK } from '../support/machine.ts';
import { until } from '../support/poll.ts';

const tools = await findLabTools();

const PLAIN_STRANGER = '52:54:00:12:34:a1';
const IPXE_STRANGER = '52:54:00:12:34:a2';
const UEFI_STRANGER = '52:54:00:12:34:a3';

describe.skipIf(tools === undefined)('what a machine gets', () => {
  const lab = sharedLab({
    tools,
    hosts: `
  - { name: restarted, pool: ram, macs: ['52:54:00:12:34:01'] }
  - { name: on-disk, pool: disk, disk: /dev/vda, macs: ['52:54:00:12:34:02'] }
`,
    dhcp: [`dhcp-host=${PLAIN_STRANGER},set:plain`, 'dhcp-boot=tag:plain,tag:arch0,lpxelinux.0,,10.55.0.1'],
  });

  test.each([
    { firmware: 'bios', loader: 'lpxelinux', mac: PLAIN_STRANGER },
    { firmware: 'bios', loader: 'iPXE', mac: IPXE_STRANGER },
    { firmware: 'uefi', loader: 'iPXE', mac: UEFI_STRANGER },
  ] as const)(
    'a machine that nobody knows boots its own disk and is listed ($firmware, $loader)',
    async ({ firmware, mac }) => {
      const boot = await lab().boot({ firmware, mac });
      expect(boot.end).toBe('disk');
      expect(boot.serial).toContain(`Railhead: ${mac} is not in the inventory`);
      expect(boot.serial).toContain(SAYS_DISK);
      expect(boot.events).toContainEqual(
        expect.objectContaining({ kind: 'boot.unknown', data: expect.objectContaining({ mac }) }),
      );
      expect(stagesOf(boot)).toEqual([]);
      const { stdout } = await lab().cli('machines', '--json');
      expect(JSON.parse(stdout)).toContainEqual(expect.objectContaining({ name: mac }));
    },
  );

  test('a host with a disk is installed once, and boots its disk from then on', async () => {
    const spec = { firmware: 'bios', mac: '52:54:00:12:34:02' } as const;
    const first = await lab().boot(spec);
    expect(stagesOf(first)).toEqual([...ALL_STAGES, 'installed'].map((stage) => `on-disk ${stage}`));

    const second = await lab().boot(spec);
    expect(second.end).toBe('disk');
    expect(second.serial).toContain(SAYS_DISK);
    expect(second.events.filter(({ kind }) => kind.startsWith('boot.'))).toEqual([]);
  });

  test('a boot goes on although the server was killed between the kernel and the configuration', async () => {
    const boot = await lab().boot({ firmware: 'bios', mac: '52:54:00:12:34:01' }, async () => {
      const after = (await lab().events()).at(-1)!.id;
      await until(
        'the initrd was sent',
        async () => stagesOf({ events: await lab().events(after) }).includes('restarted initrd-sent'),
        60_000,
      );
      await lab().appliance.kill();
      await sleep(2000);
      await lab().startServer();
    });
    expect(boot.end).toBe('off');
    expect(stagesOf(boot)).toEqual(ALL_STAGES.map((stage) => `restarted ${stage}`));
    const kinds = boot.events.map(({ kind, data }) => ('stage' in data ? data.stage : kind));
    expect(kinds.indexOf('server.started')).toBeGreaterThan(kinds.indexOf('initrd-sent'));
    expect(kinds.indexOf('server.started')).toBeLessThan(kinds.indexOf('pointer-sent'));
  });
});
