import { describe, expect } from 'vitest';
import { ALL_STAGES, bytesOf, filesOf, stagesOf } from '../support/boot-facts.ts';
import { type Boot, type Lab, labTest } from '../support/lab.ts';
import { findLabTools } from '../support/lab-tools.ts';

const tools = await findLabTools();

describe.skipIf(tools === undefined).concurrent('a machine boots from the product alone', () => {
  const test = labTest({
    tools,
    hosts: `
  - { name: bios-pxelinux, pool: ram, macs: ['52:54:00:12:34:01'] }
  - { name: bios-ipxe, pool: ram, macs: ['52:54:00:12:34:02'] }
  - { name: uefi-ipxe, pool: ram, macs: ['52:54:00:12:34:03'] }
  - { name: uefi-syslinux, pool: ram, macs: ['52:54:00:12:34:04'] }
  - { name: uefi-http, pool: ram, macs: ['52:54:00:12:34:05'] }
  - { name: uefi-grub, pool: ram, macs: ['52:54:00:12:34:06'] }
`,
    dhcp: [
      // QEMU's own ROM is iPXE and says so: this one is treated like one that is not.
      'dhcp-host=52:54:00:12:34:01,set:plain',
      'dhcp-boot=tag:plain,tag:arch0,lpxelinux.0,,10.55.0.1',
      // The alternative, out of a folder of its own: there it looks for its files, too.
      'dhcp-host=52:54:00:12:34:04,set:syslinux',
      'dhcp-boot=tag:syslinux,tag:arch7,efi64/syslinux.efi,,10.55.0.1',
      'dhcp-host=52:54:00:12:34:06,set:grub',
      'dhcp-boot=tag:grub,tag:arch7,grubx64.efi,,10.55.0.1',
    ],
  });

  /** All the way, as this host, and with every byte of the image. */
  async function expectWhole(lab: Lab, boot: Boot, host: string): Promise<void> {
    const { kernel, initrd } = await lab.imageSizes();
    expect(stagesOf(boot)).toEqual(ALL_STAGES.map((stage) => `${host} ${stage}`));
    expect(bytesOf(boot)).toEqual({
      kernel: { bytes: kernel, of: kernel },
      initrd: { bytes: initrd, of: initrd },
    });
    expect(boot.end).toBe('off');
  }

  test('with BIOS, through lpxelinux', async ({ lab, boot }) => {
    const booted = await boot({ firmware: 'bios', mac: '52:54:00:12:34:01' });
    expect(filesOf(booted)).toEqual(['lpxelinux.0', 'ldlinux.c32', 'pxelinux.cfg/01-52-54-00-12-34-01']);
    await expectWhole(lab, booted, 'bios-pxelinux');
  });

  test('with BIOS, through an iPXE that DHCP knows by option 175', async ({ lab, boot }) => {
    const booted = await boot({ firmware: 'bios', mac: '52:54:00:12:34:02' });
    expect(filesOf(booted)).toEqual([]);
    await expectWhole(lab, booted, 'bios-ipxe');
  });

  test('with UEFI, through snponly.efi and its autoexec.ipxe', async ({ lab, boot }) => {
    const booted = await boot({ firmware: 'uefi', mac: '52:54:00:12:34:03' });
    expect(filesOf(booted)).toEqual(['snponly.efi', 'autoexec.ipxe']);
    await expectWhole(lab, booted, 'uefi-ipxe');
  });

  test('with UEFI, through syslinux.efi', async ({ lab, boot }) => {
    const booted = await boot({ firmware: 'uefi', mac: '52:54:00:12:34:04' });
    expect(filesOf(booted)).toEqual([
      'efi64/syslinux.efi',
      'efi64/ldlinux.e64',
      'efi64/pxelinux.cfg/01-52-54-00-12-34-04',
    ]);
    await expectWhole(lab, booted, 'uefi-syslinux');
  });

  test('with UEFI HTTP Boot, without any TFTP', async ({ lab, boot }) => {
    const booted = await boot({ firmware: 'uefi', httpBoot: true, mac: '52:54:00:12:34:05' });
    expect(filesOf(booted)).toEqual([]);
    await expectWhole(lab, booted, 'uefi-http');
  });

  test.skipIf(!tools?.hasGrub)('with UEFI, through GRUB', async ({ lab, boot }) => {
    const booted = await boot({ firmware: 'uefi', mac: '52:54:00:12:34:06' });
    expect(filesOf(booted)).toEqual(['grubx64.efi', 'grub/grub.cfg', 'grub/grub.cfg-01-52:54:00:12:34:06']);
    await expectWhole(lab, booted, 'uefi-grub');
  });
});
