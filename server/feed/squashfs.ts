/** As much of a file as `squashfsFault` looks at. */
export const SUPERBLOCK_BYTES = 96;

/** Why a file with this beginning and length is no whole squashfs image, or `undefined`. */
export function squashfsFault(beginning: Buffer, size: number): string | undefined {
  if (beginning.length < SUPERBLOCK_BYTES || beginning.toString('latin1', 0, 4) !== 'hsqs') {
    return 'it is no squashfs image';
  }
  const used = beginning.readBigUInt64LE(40);
  if (used > BigInt(size)) return `it is cut: it has ${size} of ${used} bytes`;
  return undefined;
}
