import { inflateRawSync } from 'node:zlib';

/** A file in a ZIP archive. */
export interface ZipEntry {
  name: string;
  content: () => Buffer;
}

const END = 0x06054b50;
const CENTRAL = 0x02014b50;

/** The files of a ZIP archive, by its own table of contents. Not every machine has `unzip`. */
export function zipEntries(archive: Buffer): ZipEntry[] {
  let end = archive.length - 22;
  while (end >= 0 && archive.readUInt32LE(end) !== END) end--;
  if (end < 0) throw new Error('this is no ZIP archive');
  const entries: ZipEntry[] = [];
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left--) {
    if (archive.readUInt32LE(at) !== CENTRAL) throw new Error('the ZIP archive is damaged');
    const method = archive.readUInt16LE(at + 10);
    const size = archive.readUInt32LE(at + 20);
    const nameLength = archive.readUInt16LE(at + 28);
    const more = archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
    const local = archive.readUInt32LE(at + 42);
    entries.push({
      name: archive.toString('utf8', at + 46, at + 46 + nameLength),
      content: () => {
        const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
        const packed = archive.subarray(start, start + size);
        return method === 0 ? packed : inflateRawSync(packed);
      },
    });
    at += 46 + nameLength + more;
  }
  return entries;
}
