import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import type { Checked, CheckInput } from './check-file.ts';
import { checkSignature } from './signature.ts';

/** Large pieces: each costs openpgp several turns of the loop. */
const PIECE_BYTES = 4 * 1024 * 1024;

/** Reads a file once, for its hashes and its signature. It holds up whoever runs it: large files get a thread. */
export async function checkContent({ path, signature }: CheckInput): Promise<Checked> {
  const hashes = { sha256: createHash('sha256'), sha512: createHash('sha512') };
  const fd = openSync(path, 'r');
  let size = 0;
  const nextPiece = (): Uint8Array | undefined => {
    const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
    const read = readSync(fd, piece);
    if (read === 0) return undefined;
    const bytes = piece.subarray(0, read);
    hashes.sha256.update(bytes);
    hashes.sha512.update(bytes);
    size += read;
    return bytes;
  };
  try {
    const verdict = signature === undefined ? undefined : await checkSignature({ ...signature, nextPiece });
    // Who gave up on the signature early has not read it all; the hashes still have to be those of the whole file.
    while (nextPiece() !== undefined);
    return {
      size,
      sha256: hashes.sha256.digest('hex'),
      sha512: hashes.sha512.digest('hex'),
      ...(verdict === undefined ? {} : { signature: verdict }),
    };
  } finally {
    closeSync(fd);
  }
}
