import { fileOf, type ImageId } from '../../server/feed/image-name.ts';

/** As much of a squashfs image as anybody looks at who doesn't mount it, with this text in it. */
export function fakeImage(text: string, size = 4096): Buffer {
  const image = Buffer.alloc(size);
  image.write('hsqs', 0, 'latin1');
  image.writeBigUInt64LE(BigInt(size), 40);
  image.write(text, 96);
  return image;
}

/** The image that goes with this id; every id has other bytes. */
export function imageOf(id: ImageId, size?: number): Buffer {
  return fakeImage(fileOf(id), size);
}
