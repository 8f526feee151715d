import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { envFile } from '../../server/ignition/env-file.ts';
import { type Disk, giveDisks } from './disks.ts';
import { shells, TestNode } from './node.ts';

const SHELLS = await shells();

const STICK: Disk = { NAME: 'sdz', RM: '1', SERIAL: 'S1', SIZE: '16000000000' };
const SDA: Disk = {
  NAME: 'sda',
  SERIAL: 'S1',
  MODEL: 'Big Disk 2000',
  ROTA: '1',
  SIZE: '2000398934016',
  WWN: '0x5000',
};
const NVME: Disk = { NAME: 'nvme0n1', SERIAL: `it's "a" $(disk)`, SIZE: '500107862016', MODEL: 'Fast' };
const TAPE: Disk = { NAME: 'sr0', TYPE: 'rom', SERIAL: 'S1' };
const HUGE: Disk = { NAME: 'sdb', SERIAL: 'S2', SIZE: '90000000000000000000' };
const TINY: Disk = { NAME: 'sdc', SERIAL: 'S3', SIZE: '51200' };

const CASES: {
  what: string;
  disks: Disk[];
  wants: Record<string, string | number>;
  finds?: string;
  says?: RegExp;
}[] = [
  {
    what: 'by its serial; sticks and drives are never meant',
    disks: [STICK, TAPE, SDA, NVME],
    wants: { SERIAL: 'S1' },
    finds: 'sda',
  },
  {
    what: 'a serial with quotes and spaces',
    disks: [SDA, NVME],
    wants: { SERIAL: NVME.SERIAL! },
    finds: 'nvme0n1',
  },
  { what: 'a model with spaces', disks: [SDA, NVME], wants: { MODEL: 'Big Disk 2000' }, finds: 'sda' },
  { what: 'by its WWN', disks: [SDA, NVME], wants: { WWN: '0x5000' }, finds: 'sda' },
  { what: 'one that does not turn', disks: [SDA, NVME], wants: { ROTATIONAL: 0 }, finds: 'nvme0n1' },
  { what: 'at least so large', disks: [SDA, NVME], wants: { MIN_MB: 1_000_000 }, finds: 'sda' },
  {
    what: 'at most so large, to the megabyte',
    disks: [SDA, NVME],
    wants: { MAX_MB: 500_107 },
    finds: 'nvme0n1',
  },
  { what: 'a megabyte too large', disks: [NVME], wants: { MAX_MB: 500_106 }, says: /fits no disk/ },
  {
    what: 'larger than the numbers of a shell',
    disks: [HUGE, NVME],
    wants: { MIN_MB: 1_000_000 },
    finds: 'sdb',
  },
  { what: 'a few bytes are no megabytes', disks: [TINY], wants: { MIN_MB: 100 }, says: /fits no disk/ },
  {
    what: 'all of what is asked for',
    disks: [SDA],
    wants: { SERIAL: 'S1', MAX_MB: 1000 },
    says: /fits no disk/,
  },
  {
    what: 'none: what there is',
    disks: [NVME],
    wants: { SERIAL: 'S9' },
    says: /fits no disk of: .*nvme0n1.*Fast/,
  },
  { what: 'part of a serial is not the serial', disks: [SDA], wants: { SERIAL: 'S' }, says: /fits no disk/ },
  { what: 'no disks at all', disks: [STICK], wants: { MIN_MB: 1 }, says: /fits no disk/ },
  {
    what: 'two: which',
    disks: [SDA, NVME],
    wants: { MIN_MB: 1000 },
    says: /more than one disk: \/dev\/(sda|nvme0n1) and \/dev\/(sda|nvme0n1)/,
  },
];

describe.each(SHELLS)('railhead-disk in $name', (shell) => {
  it.each(CASES)('$what', async ({ disks, wants, finds, says }) => {
    const node = await TestNode.make(shell);
    await giveDisks(node, disks);
    const wanted = Object.entries(wants).map(([name, value]) => [`RAILHEAD_DISK_${name}`, value]);
    await node.write('etc/disk.env', envFile(Object.fromEntries(wanted)));
    const { code, stdout, stderr } = await node.run('railhead-disk');
    if (finds !== undefined)
      expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: `/dev/${finds}\n`, stderr: '' });
    else
      expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(says!) });
  });

  it('a device that is not there', async () => {
    const node = await TestNode.make(shell);
    await node.write('etc/disk.env', envFile({ RAILHEAD_DISK: '/dev/disk/by-id/nope' }));
    const said = expect.stringContaining('there is no disk /dev/disk/by-id/nope');
    expect(await node.run('railhead-disk')).toMatchObject({ code: 1, stdout: '', stderr: said });
  });

  it.skipIf(process.getuid?.() !== 0)('a device by a link is that device; a partition is none', async () => {
    const node = await TestNode.make(shell);
    for (const name of ['whole', 'part']) spawnSync('mknod', [node.path(name), 'b', '7', '250']);
    await node.program('lsblk', 'case $3 in *whole) echo disk ;; *) echo part ;; esac');
    await node.write('etc/disk.env', envFile({ RAILHEAD_DISK: node.path('link') }));
    spawnSync('ln', ['-s', 'whole', node.path('link')]);
    expect(await node.run('railhead-disk')).toMatchObject({ code: 0, stdout: `${node.path('whole')}\n` });
    spawnSync('ln', ['-sf', 'part', node.path('link')]);
    const said = expect.stringContaining('is not a whole disk');
    expect(await node.run('railhead-disk')).toMatchObject({ code: 1, stdout: '', stderr: said });
  });
});
