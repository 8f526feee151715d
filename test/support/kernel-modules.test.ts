import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { dependenciesOf, loadOrder, modulesFor } from './kernel-modules.ts';
import { tempFolder } from './temp.ts';

describe('the order in which modules are loaded', () => {
  const dependencies: Record<string, string[]> = {
    virtio_net: ['virtio_ring', 'virtio', 'net_failover'],
    virtio_blk: ['virtio', 'virtio_ring'],
    virtio: ['virtio_ring'],
    virtio_ring: [],
    net_failover: ['failover'],
  };
  const order = (...wanted: string[]): string[] => loadOrder(wanted, (name) => dependencies[name]);

  test('has every module once, after those that it depends on', () => {
    expect(order('virtio_net', 'virtio_blk')).toEqual([
      'virtio_ring',
      'virtio',
      'net_failover',
      'virtio_net',
      'virtio_blk',
    ]);
  });

  test('leaves out what is built into the kernel', () => {
    expect(order('ext4')).toEqual([]);
    expect(order('net_failover')).toEqual(['net_failover']);
  });

  test('rejects modules that depend on each other', () => {
    const circle: Record<string, string[]> = { a: ['b'], b: ['c'], c: ['b'] };
    expect(() => loadOrder(['a'], (name) => circle[name])).toThrow(
      'modules depend on each other: a -> b -> c -> b',
    );
  });
});

describe('the dependencies of a module', () => {
  test.each([
    ['none', 'license=GPL\0depends=\0name=a\0', []],
    ['several', 'license=GPL\0depends=virtio_ring,virtio\0name=a\0', ['virtio_ring', 'virtio']],
    ['with dashes', 'depends=crc32c-intel\0', ['crc32c_intel']],
  ])('are read from its information: %s', (_, information, expected) => {
    expect(dependenciesOf(module(information))).toEqual(expected);
  });

  test('are missing in what is not a module', () => {
    expect(() => dependenciesOf(Buffer.from('\x7fELF\0name=a\0'))).toThrow('not a kernel module');
  });
});

describe('the modules of an unpacked kernel', () => {
  const hasXz = spawnSync('xz', ['--version']).status === 0;

  test.runIf(hasXz)('are found wherever they are, and however they are compressed', async () => {
    const kernel = await unpackedKernel({
      'kernel/drivers/net/virtio-net.ko.xz': xz(module('depends=virtio,failover\0')),
      'kernel/drivers/virtio/virtio.ko.zst': zstdCompressSync(module('depends=virtio_ring\0')),
      'kernel/elsewhere/virtio_ring.ko': module('depends=\0'),
      'kernel/unrelated.ko': module('depends=virtio_net\0'),
    });
    expect(modulesFor(kernel, ['virtio_net', 'ext4'])).toEqual([
      { name: 'virtio_ring', content: module('depends=\0') },
      { name: 'virtio', content: module('depends=virtio_ring\0') },
      { name: 'virtio_net', content: module('depends=virtio,failover\0') },
    ]);
  });

  test('reports one that neither exists nor is built in', async () => {
    const kernel = await unpackedKernel({ 'kernel/a.ko': module('depends=b\0') });
    expect(() => modulesFor(kernel, ['a'])).toThrow('the kernel vmlinuz-6.1.0 has no module b');
  });
});

function module(information: string): Buffer {
  return Buffer.from(`\x7fELF\x02\x01\0\xff${information}\x00\x01`, 'latin1');
}

function xz(content: Buffer): Buffer {
  return spawnSync('xz', ['-c'], { input: content }).stdout;
}

async function unpackedKernel(modules: Record<string, Buffer>): Promise<string> {
  const root = await tempFolder();
  const tree = join(root, 'lib/modules/6.1.0');
  const files = { ...modules, 'modules.builtin': 'kernel/fs/ext4/ext4.ko\nkernel/net/core/failover.ko\n' };
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(tree, path)), { recursive: true });
    await writeFile(join(tree, path), content);
  }
  return join(root, 'boot/vmlinuz-6.1.0');
}
