import { quote } from '../../document/problem.ts';
import type { ConfigPath } from '../spec/place.ts';
import type { Disk, IgnitionConfig, Partition } from '../spec/schema.ts';
import { byteLength, type CheckContext } from './check.ts';
import { pathFault } from './paths.ts';

const GUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const MAX_LABEL = 36;

export function checkDisks({ storage }: IgnitionConfig, context: CheckContext): void {
  storage?.disks?.forEach((disk, index) => {
    const path = ['storage', 'disks', index];
    disk.partitions?.forEach((partition, n) => {
      checkPartition(partition, [...path, 'partitions', n], context);
    });
    if (disk.device === '') {
      context.error([...path, 'device'], 'a device is missing; write one such as "/dev/disk/by-id/…"');
      return;
    }
    const fault = pathFault(disk.device);
    if (fault !== undefined) context.error([...path, 'device'], fault);
    checkTogether(disk, [...path, 'partitions'], context);
  });
}

function checkPartition(partition: Partition, path: ConfigPath, context: CheckContext): void {
  const { number = 0, label, guid, typeGuid, startMiB, sizeMiB, shouldExist } = partition;
  const isDescribed = [label, guid || undefined, typeGuid || undefined, startMiB, sizeMiB].some(
    (field) => field !== undefined,
  );
  if (shouldExist === false && isDescribed) {
    context.error(path, 'a partition that should not exist is named by its number only; remove the rest');
  }
  if (number === 0 && label === undefined) {
    context.error(path, 'give the partition a number from 1, or a label');
  }
  if (number < 0)
    context.warning([...path, 'number'], `there is no partition ${number}; numbers count from 1`);
  for (const [name, size] of Object.entries({ startMiB, sizeMiB })) {
    if (size !== undefined && size < 0) context.warning([...path, name], `${size} MiB is impossible`);
  }
  if (label !== undefined) checkLabel(label, [...path, 'label'], context);
  for (const [name, value] of Object.entries({ guid, typeGuid })) {
    if (value === undefined || value === '' || GUID.test(value)) continue;
    const example = '01234567-89AB-CDEF-EDCB-A98765432101';
    context.error([...path, name], `expected a GUID such as "${example}", got ${quote(value)}`);
  }
}

function checkLabel(label: string, path: ConfigPath, context: CheckContext): void {
  if (byteLength(label) > MAX_LABEL) {
    context.error(
      path,
      `${quote(label)} has ${byteLength(label)} bytes; a partition's label has ${MAX_LABEL} at most`,
    );
  } else if (label.includes(':')) {
    context.error(path, `${quote(label)} would be cut off at the colon; write it without`);
  }
}

/** What the partitions of one disk are to each other. */
function checkTogether({ partitions = [] }: Disk, path: ConfigPath, context: CheckContext): void {
  const say = (index: number, message: string): void => context.error([...path, index], message);
  sameTwice(
    partitions,
    ({ number }) => number || undefined,
    (index, number) => {
      say(index, `the disk has a partition ${number} already; give this one another number`);
    },
  );
  sameTwice(
    partitions,
    ({ label }) => label,
    (index, label) => {
      say(
        index,
        `the disk has a partition with the label ${quote(label)} already; give this one another label`,
      );
    },
  );
  sameTwice(
    partitions,
    ({ guid }) => guid?.toLowerCase() || undefined,
    (index) => {
      context.warning(
        [...path, index, 'guid'],
        'another partition of the disk has this guid; each needs its own',
      );
    },
  );
  const overlap = findOverlap(partitions);
  if (overlap !== undefined) {
    say(
      overlap.index,
      `it overlaps with partition ${overlap.other} of this list; move or shrink one of them`,
    );
  }
  const mixes = partitions.some(({ shouldExist }) => shouldExist === false);
  if (mixes && partitions.some(({ number = 0 }) => number === 0)) {
    context.error(path, 'next to one that should not exist, every partition needs a number');
  }
}

function sameTwice<T extends string | number>(
  partitions: readonly Partition[],
  keyOf: (partition: Partition) => T | undefined,
  tell: (index: number, key: T) => void,
): void {
  const seen = new Set<T>();
  partitions.forEach((partition, index) => {
    const key = keyOf(partition);
    if (key === undefined) return;
    if (seen.has(key)) tell(index, key);
    seen.add(key);
  });
}

/** Only partitions with a start of their own can be compared: the others go where there is room. */
function findOverlap(partitions: readonly Partition[]): { index: number; other: number } | undefined {
  const placed = partitions.flatMap(({ startMiB, sizeMiB }, index) =>
    startMiB === undefined || sizeMiB === undefined || startMiB === 0
      ? []
      : // A size of 0 fills the room: its end is not known.
        [{ index, first: startMiB, last: sizeMiB === 0 ? startMiB : startMiB + sizeMiB - 1 }],
  );
  for (const one of placed) {
    for (const two of placed) {
      if (one === two) continue;
      const startsIn = one.first >= two.first && one.first <= two.last;
      const endsIn = one.last >= two.first && one.last <= two.last;
      const covers = one.first < two.first && one.last > two.last;
      if (startsIn || endsIn || covers) return { index: two.index, other: one.index };
    }
  }
  return undefined;
}
