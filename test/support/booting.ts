import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { INITRD, KERNEL } from '../../server/netboot/images.ts';
import { Appliance, makeSite, type Site } from './appliance.ts';

/** The image of the example's profile, so that its hosts are offered a boot. */
export async function giveImage(site: Site, image = 'flatcar/stable/amd64-usr/4593.2.5'): Promise<void> {
  const dir = join(site.dir, 'assets', image);
  await mkdir(dir, { recursive: true });
  for (const file of [KERNEL, INITRD]) await writeFile(join(dir, file), file);
}

/** A machine that has fetched its kernel: the token of its boot. */
export async function bootMachine(appliance: Appliance, mac: string): Promise<string> {
  const menu = (await appliance.ask(`/boot.ipxe?mac=${mac}`)).body;
  const token = /\/boot\/([\w-]{22})\//.exec(menu)?.[1];
  if (token === undefined) throw new Error(`no boot is offered to ${mac}:\n${menu}`);
  await appliance.ask(`/boot/${token}/kernel`);
  return token;
}

/** An appliance for all tests of a file, with so many hosts that each test has one of its own. */
export interface Fleet {
  appliance: () => Appliance;
  /** A host that no test has had: its name and its MAC. */
  next: () => { name: string; mac: string };
}

export function sharedFleet(inventoryOf: (hosts: string) => string, count = 200): Fleet {
  let appliance: Appliance | undefined;
  let used = 0;
  const nameOf = (index: number): string => `m${index}`;
  const macOf = (index: number): string => `52:54:00:00:00:${index.toString(16).padStart(2, '0')}`;
  beforeAll(async () => {
    const site = await makeSite();
    await giveImage(site);
    const hosts = Array.from(
      { length: count },
      (_, index) => `  - {name: ${nameOf(index)}, pool: fleet, macs: ['${macOf(index)}']}\n`,
    );
    await writeFile(join(site.inventory, 'example.yaml'), inventoryOf(`hosts:\n${hosts.join('')}`));
    appliance = new Appliance(site, {});
    await appliance.running();
  });
  afterAll(async () => {
    if (appliance === undefined) return;
    await appliance.kill();
    await appliance.assertDiscreet();
    await rm(appliance.site.dir, { recursive: true, force: true });
  });
  return {
    appliance: () => appliance!,
    next: () => {
      const index = used++;
      return { name: nameOf(index), mac: macOf(index) };
    },
  };
}
