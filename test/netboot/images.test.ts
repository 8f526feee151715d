import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { INITRD, imageOf, inspectImage, KERNEL } from '../../server/netboot/images.ts';
import { hostSpec } from '../support/hosts.ts';
import { tempFolder } from '../support/temp.ts';

async function folder(files: Record<string, string>): Promise<string> {
  const dir = await tempFolder();
  await mkdir(join(dir, 'image'));
  for (const [name, content] of Object.entries(files)) await writeFile(join(dir, 'image', name), content);
  return dir;
}
const unknown = async () => undefined;

it('a whole image has its sizes', async () => {
  const dir = await folder({ [KERNEL]: 'kernel', [INITRD]: 'the initrd' });
  expect(await inspectImage(dir, 'image', unknown)).toEqual({ sizes: { kernel: 6, initrd: 10 } });
});

it.each([
  ['a file is missing', { [KERNEL]: 'kernel' }, /is not there \(flatcar_production_pxe_image/],
  ['a file is empty', { [KERNEL]: '', [INITRD]: 'x' }, /vmlinuz is empty/],
])('%s', async (_what, files, fault) => {
  const inspected = await inspectImage(await folder(files), 'image', unknown);
  expect(inspected).toEqual({ fault: expect.stringMatching(fault) });
});

it('a file that is not as long as when it was verified is not offered', async () => {
  const dir = await folder({ [KERNEL]: 'kernel', [INITRD]: 'half' });
  const recorded = async (name: string) => (name === `image/${INITRD}` ? 10 : 6);
  expect(await inspectImage(dir, 'image', recorded)).toEqual({
    fault: `image/${INITRD} has 4 bytes in place of 10: \`railhead assets verify\``,
  });
});

it('`current` is the version that it was resolved to', () => {
  const host = hostSpec();
  expect(imageOf(host)).toBe('flatcar/stable/amd64-usr/4593.2.5');
  host.os.version = 'current';
  expect(imageOf(host, '4593.2.6')).toBe('flatcar/stable/amd64-usr/4593.2.6');
  expect(imageOf(host)).toBe('flatcar/stable/amd64-usr/current');
});
