import { quote } from '../../document/problem.ts';
import type { ConfigPath } from '../spec/place.ts';
import type { Filesystem, IgnitionConfig } from '../spec/schema.ts';
import { FORMAT_SINCE } from '../spec/since.ts';
import { byteLength, type CheckContext, knownAt } from './check.ts';
import { pathFault } from './paths.ts';

/** Bytes that fit into the label of a file system. */
const MAX_LABEL: Readonly<Record<string, number>> = { ext4: 16, btrfs: 256, xfs: 12, swap: 15, vfat: 11 };

export function checkFilesystems({ storage }: IgnitionConfig, context: CheckContext): void {
  const disks = new Map(storage?.disks?.map((disk) => [disk.device, disk]));
  const mounts = new Set<string>();
  storage?.filesystems?.forEach((filesystem, index) => {
    const path = ['storage', 'filesystems', index];
    checkFilesystem(filesystem, path, context);
    const disk = disks.get(filesystem.device);
    if (disk?.partitions?.length) {
      context.warning(
        [...path, 'device'],
        'it overwrites the partitions of the disk; name a partition instead',
      );
    } else if (disk?.wipeTable === true && filesystem.wipeFilesystem !== true) {
      context.warning([...path, 'device'], 'the table of this disk is wiped, and the file system with it');
    }
    const mount = filesystem.path;
    if (mount && mounts.has(mount)) {
      context.warning(
        [...path, 'path'],
        `another file system is mounted at ${quote(mount)}; it would be hidden`,
      );
    }
    if (mount) mounts.add(mount);
  });
}

function checkFilesystem(filesystem: Filesystem, at: ConfigPath, context: CheckContext): void {
  const { device, path, format = '', label = '' } = filesystem;
  const faults = {
    path: path ? pathFault(path) : undefined,
    device:
      device === '' ? 'a device is missing; write one such as "/dev/disk/by-partlabel/…"' : pathFault(device),
    format: formatFault(filesystem, context),
    label: format === '' ? undefined : labelFault(label, format),
  };
  for (const [field, fault] of Object.entries(faults)) {
    if (fault !== undefined) context.error([...at, field], fault);
  }
  if (format === 'swap' && path) {
    context.warning([...at, 'path'], 'swap is not mounted anywhere; remove the path');
  }
}

function formatFault(filesystem: Filesystem, { version }: CheckContext): string | undefined {
  const { format = '', path, label, uuid, wipeFilesystem, mountOptions = [], options = [] } = filesystem;
  const known = knownAt(version, FORMAT_SINCE);
  if (format === '') {
    const isUsed = path || label || uuid || wipeFilesystem || mountOptions.length > 0 || options.length > 0;
    return isUsed ? `a format is missing; add "format": one of ${known.join(', ')}` : undefined;
  }
  if (known.includes(format)) return undefined;
  const since = Object.hasOwn(FORMAT_SINCE, format) ? FORMAT_SINCE[format] : undefined;
  if (since !== undefined) return `"${format}" came with spec ${since}; set ignition.version to "${since}"`;
  return `expected one of ${known.join(', ')}, got ${quote(format)}`;
}

function labelFault(label: string, format: string): string | undefined {
  const most = MAX_LABEL[format];
  if (most === undefined || byteLength(label) <= most) return undefined;
  return `${quote(label)} has ${byteLength(label)} bytes; a label of ${format} has ${most} at most`;
}
