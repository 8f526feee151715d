import { describe, expect, test } from 'vitest';
import { ALL_STAGES, filesOf, sharedLab, stagesOf } from '../support/lab.ts';
import { findLabTools } from '../support/lab-tools.ts';

const tools = await findLabTools();

describe.skipIf(tools === undefined)('a machine boots from the product alone', () => {
  const lab = sharedLab({
    tools,
    hosts: `
  - { name: bios-pxelinux, pool: ram, macs: ['52:54:00:12:34:01'] }
  - { name: bios-ipxe, pool: ram, macs: ['52:54:00:12:34:02'] }
  - { name: uefi-ipxe, pool: ram, macs: ['52:54:00:12:34:03'] }
  - { name: uefi-syslinux, pool: ram, macs: ['52:54:00:12:34:04'] }
`,
    dhcp: [
      // QEMU's own ROM is iPXE and says so: this one is treated like one that is not.
      'dhcp-host=52:54:00:12:34:01,set:plain',
      'dhcp-boot=tag:plain,tag:arch0,lpxelinux.0,,10.55.0.1',
      // The alternative, out of a folder of its own: there it looks for its files, too.
      'dhcp-host=52:54:00:12:34:04,set:syslinux',
      'dhcp-boot=tag:syslinux,tag:arch7,efi64/syslinux.efi,,10.55.0.1',
    ],
  });

  test('with BIOS, through lpxelinux', async () => {
    const boot = await lab().boot({ firmware: 'bios', mac: '52:54:00:12:34:01' });
    expect(filesOf(boot)).toEqual(['lpxelinux.0', 'ldlinux.c32', 'pxelinux.cfg/01-52-54-00-12-34-01']);
    expect(stagesOf(boot)).toEqual(ALL_STAGES.map((stage) => `bios-pxelinux ${stage}`));
    expect(boot.end).toBe('off');
  });

  test('with BIOS, through an iPXE that DHCP knows by option 175', async () => {
    const boot = await lab().boot({ firmware: 'bios', mac: '52:54:00:12:34:02' });
    expect(filesOf(boot)).toEqual([]);
    expect(stagesOf(boot)).toEqual(ALL_STAGES.map((stage) => `bios-ipxe ${stage}`));
    expect(boot.end).toBe('off');
  });

  test('with UEFI, through snponly.efi and its autoexec.ipxe', async () => {
    const boot = await lab().boot({ firmware: 'uefi', mac: '52:54:00:12:34:03' });
    expect(filesOf(boot)).toEqual(['snponly.efi', 'autoexec.ipxe']);
    expect(stagesOf(boot)).toEqual(ALL_STAGES.map((stage) => `uefi-ipxe ${stage}`));
    expect(boot.end).toBe('off');
  });

  test('with UEFI, through syslinux.efi', async () => {
    const boot = await lab().boot({ firmware: 'uefi', mac: '52:54:00:12:34:04' });
    expect(filesOf(boot)).toEqual([
      'efi64/syslinux.efi',
      'efi64/ldlinux.e64',
      'efi64/pxelinux.cfg/01-52-54-00-12-34-04',
    ]);
    expect(stagesOf(boot)).toEqual(ALL_STAGES.map((stage) => `uefi-syslinux ${stage}`));
    expect(boot.end).toBe('off');
  });
});
