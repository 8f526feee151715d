import { describe, expect, vi } from 'vitest';
import { ALL_STAGES, bytesOf, stagesOf } from '../support/boot-facts.ts';
import { padInitrd } from '../support/guest.ts';
import { labTest } from '../support/lab.ts';
import { findLabTools } from '../support/lab-tools.ts';

const tools = await findLabTools();
const MB = 1024 * 1024;
/** What Flatcar's has. */
const INITRD_BYTES = 400 * MB;
const large = tools && padInitrd(tools.guest.initrd, INITRD_BYTES);

/** Without Syslinux 6.04, which does not bring so much as it is: docs/decisions/0011-ipxe-for-bios.md. */
const LOADERS = [
  { host: 'bios-ipxe', firmware: 'bios', mac: '52:54:00:12:34:02' },
  { host: 'uefi-ipxe', firmware: 'uefi', mac: '52:54:00:12:34:03' },
  { host: 'uefi-http', firmware: 'uefi', mac: '52:54:00:12:34:05', httpBoot: true },
  ...(tools?.hasGrub ? [{ host: 'uefi-grub', firmware: 'uefi', mac: '52:54:00:12:34:06' } as const] : []),
] as const;

describe.skipIf(large === undefined)('an initrd as large as the real one', () => {
  vi.setConfig({ testTimeout: 1_800_000 });
  const test = labTest({
    tools,
    ...(large === undefined ? {} : { initrd: large.path }),
    env: { RAILHEAD_IMAGE_CACHE_MEGABYTES: '64' },
    hosts: LOADERS.map(({ host, mac }) => `  - { name: ${host}, pool: ram, macs: ['${mac}'] }\n`).join(''),
    dhcp: ['dhcp-host=52:54:00:12:34:06,set:grub', 'dhcp-boot=tag:grub,tag:arch7,grubx64.efi,,10.55.0.1'],
  });

  test.for(LOADERS)('arrives whole: $host', async ({ host, ...machine }, { lab, boot }) => {
    const booted = await boot({ ...machine, memoryMB: 2048, patienceSeconds: 600 });
    const { kernel, initrd } = await lab.imageSizes();
    expect(initrd).toBeGreaterThan(INITRD_BYTES);
    expect(stagesOf(booted)).toEqual(ALL_STAGES.map((stage) => `${host} ${stage}`));
    expect(bytesOf(booted)).toEqual({
      kernel: { bytes: kernel, of: kernel },
      initrd: { bytes: initrd, of: initrd },
    });
    expect(booted.serial).toContain(`GUEST: padding ${large!.md5}`);

    const memory = await lab.mostMemory();
    console.info(
      `${host}: ${Math.round(booted.seconds)} s; the server had ${Math.round(memory / MB)} MB at most`,
    );
    expect(memory, 'the server does not hold what it sends').toBeLessThan(INITRD_BYTES);
  });
});
