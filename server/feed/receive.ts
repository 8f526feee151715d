import { open, stat } from 'node:fs/promises';
import { RailheadError } from '../errors.ts';
import { SUPERBLOCK_BYTES, squashfsFault } from './squashfs.ts';

/** A piece of an image on its way here; the whole of it, or one of several. */
export interface ImagePart {
  body: AsyncIterable<Buffer>;
  /** How many bytes the piece has. */
  bytes: number;
  /** Where it begins in the image. */
  offset: number;
}

export function invalidImage(what: string, fault: string): RailheadError {
  return new RailheadError('RH_SYSEXT_INVALID', `${what} is refused: ${fault}.`, {
    hint: '`npx railhead sysext build` makes images that are accepted.',
  });
}

/** How much of an image is there already. */
export async function receivedBytes(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}

/**
 * Appends a piece to what is there: never more than was announced, and only as long as it can become a squashfs image.
 * Returns how much is there then. What has come before a connection was cut stays, so that it can be gone on with.
 */
export async function receivePart(
  path: string,
  part: ImagePart,
  { what, size }: { what: string; size: number },
): Promise<number> {
  const end = part.offset + part.bytes;
  if (end > size) throw invalidImage(what, `${end} bytes are more than the announced ${size}`);
  const file = await open(path, 'a', 0o644);
  let beginning = Buffer.alloc(0);
  let at = part.offset;
  try {
    for await (const chunk of untilCut(part.body, what)) {
      if (at + chunk.length > end)
        throw invalidImage(what, `more than the announced ${part.bytes} bytes came`);
      if (at < SUPERBLOCK_BYTES) {
        beginning = Buffer.concat([beginning, chunk.subarray(0, SUPERBLOCK_BYTES)]);
        const fault = beginning.length < SUPERBLOCK_BYTES ? undefined : squashfsFault(beginning, size);
        if (fault !== undefined) throw invalidImage(what, fault);
      }
      await file.appendFile(chunk);
      at += chunk.length;
    }
  } finally {
    await file.close();
  }
  if (at !== end) throw invalidImage(what, `${at - part.offset} of the announced ${part.bytes} bytes came`);
  if (at === size && size < SUPERBLOCK_BYTES) throw invalidImage(what, 'it is no squashfs image');
  return at;
}

/** A sender that is gone is no fault of this machine. */
async function* untilCut(source: AsyncIterable<Buffer>, what: string): AsyncGenerator<Buffer> {
  try {
    yield* source;
  } catch (error) {
    throw new RailheadError('RH_REQUEST_INVALID', `The connection ended before ${what} was there.`, {
      cause: error,
    });
  }
}
