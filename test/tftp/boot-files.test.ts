import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { InventoryIndex } from '../../server/inventory/index.ts';
import { swapUuid } from '../../server/inventory/uuid.ts';
import { INITRD, imageOf, KERNEL } from '../../server/netboot/images.ts';
import { bootFiles } from '../../server/tftp/boot-files.ts';
import { inventoryOf, lab } from '../inventory/make.ts';
import { httpContext } from '../support/http-context.ts';

const UUID = '4c4c4544-0042-3510-8052-b4c04f384332';
const OTHER_UUID = '5d4c4544-0042-3510-8052-b4c04f384332';

async function world() {
  const context = await httpContext();
  const inventory = inventoryOf(
    lab(
      `{name: both, pool: workers, macs: [52:54:00:00:00:02], uuid: ${UUID}}`,
      `{name: card, pool: workers, macs: [52:54:00:00:00:03]}`,
      `{name: board, pool: workers, uuid: ${OTHER_UUID}}`,
      `{name: address, pool: workers, macs: [52:54:00:00:00:04], ip: 10.0.0.4}`,
    ),
  );
  (context.inventory as { index: InventoryIndex }).index = new InventoryIndex(inventory);
  const image = join(context.assetsDir, imageOf(inventory.hosts[0]!));
  await mkdir(image, { recursive: true });
  for (const file of [KERNEL, INITRD]) await writeFile(join(image, file), file);
  let now = 0;
  const resolve = bootFiles(
    context.boot,
    () => 'http://10.0.0.5:8080',
    () => now,
  );
  return {
    context,
    pass: (seconds: number) => {
      now += seconds * 1000;
    },
    /** The first line of the menu, or that there is none. */
    ask: async (name: string, address = '10.0.0.99') => {
      const found = await resolve({ name, address });
      if (found === undefined) return 'no such file';
      return 'content' in found ? String(found.content).split('\n')[0] : found.reason;
    },
  };
}

it('pxelinux: a UUID is enough for a host that has nothing else, in either byte order', async () => {
  const { ask } = await world();
  expect(await ask(`pxelinux.cfg/${OTHER_UUID}`)).toMatch(/^# Railhead: board:/);
  expect(await ask(`pxelinux.cfg/${swapUuid(OTHER_UUID)}`)).toMatch(/^# Railhead: board:/);
});

it('pxelinux: with a MAC in the inventory, UUID and MAC are looked at together', async () => {
  const { ask, context } = await world();
  expect(await ask(`pxelinux.cfg/${UUID}`)).toBe('no such file');
  expect(await ask('pxelinux.cfg/01-52-54-00-00-00-02')).toMatch(/^# Railhead: both:/);
  // A card that the inventory doesn't list, in a machine that it does.
  await ask(`pxelinux.cfg/${UUID}`, '10.0.0.98');
  expect(await ask('pxelinux.cfg/01-52-54-00-00-00-99', '10.0.0.98')).toMatch(/^# Railhead: both:/);
  // Another board with the same UUID must not be given the first one's system.
  await ask(`pxelinux.cfg/${UUID}`, '10.0.0.97');
  expect(await ask('pxelinux.cfg/01-52-54-00-00-00-03', '10.0.0.97')).toMatch(/which host is this/);
  await expect
    .poll(async () => (await context.events.list({ limit: 10 })).map(({ data }) => data))
    .toContainEqual(expect.objectContaining({ hosts: ['card', 'both'] }));
});

it('pxelinux: a UUID that was told long ago, or by another machine, says nothing', async () => {
  const { ask, pass } = await world();
  await ask(`pxelinux.cfg/${UUID}`);
  expect(await ask('pxelinux.cfg/01-52-54-00-00-00-03', '10.0.0.1')).toMatch(/^# Railhead: card:/);
  pass(61);
  expect(await ask('pxelinux.cfg/01-52-54-00-00-00-03')).toMatch(/^# Railhead: card:/);
});

it.each([
  'grub.cfg-01-52-54-00-00-00-03',
  'grub/grub.cfg-01-52-54-00-00-00-03',
  'boot/grub/grub.cfg-01-52-54-00-00-00-03',
  'grub/x86_64-efi/grub.cfg-01-52-54-00-00-00-03',
  'EFI/debian/grub.cfg-01-52-54-00-00-00-03',
])('GRUB: %s', async (name) => {
  const { ask } = await world();
  expect(await ask(name)).toMatch(/^# Railhead: card:/);
});

it.each(['grub.cfg', 'grub/x86_64-efi/grub.cfg', 'grub/arm64-efi/grub.cfg', 'EFI/debian/grub.cfg'])(
  'GRUB: %s is decided by the address, if it is one of the inventory',
  async (name) => {
    const { ask } = await world();
    expect(await ask(name, '10.0.0.4')).toMatch(/^# Railhead: address:/);
    expect(await ask(name, '10.0.0.99')).toMatch(/is not in the inventory/);
  },
);

it('GRUB: names by address in hex are quick misses', async () => {
  const { ask } = await world();
  expect(await ask('grub/grub.cfg-0A000009')).toBe('no such file');
  expect(await ask('grub/x86_64-efi/command.lst')).toBe('no such file');
});
