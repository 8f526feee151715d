import { createMessage, type Key, readKeys, readSignature, type Subkey, verify } from 'openpgp';

export type SignatureVerdict =
  | { isRight: true; signer: string }
  /** `ofKey`: the signature may be right, but the keys here can't tell: a newer key file may. */
  | { isRight: false; reason: string; ofKey: boolean };

export interface SignatureInput {
  /** The detached signature, as in a `.sig`. */
  binary: Uint8Array;
  armoredKeys: string;
  /** Of the one primary key that counts; its subkeys count with it. */
  fingerprint: string;
  /** Milliseconds since 1970: what has expired by then is refused. */
  now: number;
  /** The signed bytes, piece by piece. */
  nextPiece: () => Uint8Array | undefined;
}

/** Whether the pinned key, or a subkey of it, made this signature of these bytes, and has not expired since. */
export async function checkSignature(input: SignatureInput): Promise<SignatureVerdict> {
  const { binary, armoredKeys, fingerprint, now, nextPiece } = input;
  const key = await pinnedKey(armoredKeys, fingerprint);
  if (key === undefined) return wrong(`the key ${fingerprint} is not in the key file`, true);
  const signature = await readSignature({ binarySignature: binary }).catch(() => undefined);
  if (signature === undefined || signature.packets.length === 0) return wrong('the signature is unreadable');
  const message = await createMessage({ binary: streamOf(nextPiece) });
  const verified = await verify({
    message,
    signature,
    verificationKeys: key,
    format: 'binary',
    date: new Date(now),
  });
  // openpgp hashes what passes by: somebody has to read it.
  const settled = Promise.allSettled(verified.signatures.map((each) => each.verified));
  await drain(verified.data as unknown as ReadableStream<Uint8Array>);
  const results = await settled;
  let fault: SignatureVerdict = wrong('there is no signature in the file');
  for (const [index, result] of results.entries()) {
    const { keyID } = verified.signatures[index]!;
    if (result.status === 'rejected') {
      const text = String((result.reason as Error)?.message ?? result.reason);
      fault = /Could not find signing key|expired|not valid|revoked/i.test(text)
        ? wrong(`the key ${keyID.toHex().toUpperCase()} can't vouch for it (${text})`, true)
        : wrong(`the signature is not one of this file (${text})`);
      continue;
    }
    const signers = key.getKeys(keyID);
    const expired = await expiredSince(key, signers, now);
    if (expired === undefined)
      return { isRight: true, signer: (signers[0] ?? key).getFingerprint().toUpperCase() };
    fault = wrong(
      `it was signed by the key ${keyID.toHex().toUpperCase()}, which expired on ${expired.toISOString().slice(0, 10)}`,
      true,
    );
  }
  return fault;
}

/** The key of this fingerprint among those of a key file. */
export async function pinnedKey(armoredKeys: string, fingerprint: string): Promise<Key | undefined> {
  const keys = await readKeys({ armoredKeys }).catch(() => []);
  return keys.find((key) => key.getFingerprint().toUpperCase() === fingerprint.toUpperCase());
}

async function expiredSince(
  primary: Key,
  signers: readonly (Key | Subkey)[],
  now: number,
): Promise<Date | undefined> {
  for (const key of [primary, ...signers]) {
    const at = await key.getExpirationTime();
    // `null`: it was never valid, by its own signatures.
    if (at === null) return new Date(0);
    if (at instanceof Date && at.getTime() <= now) return at;
  }
  return undefined;
}

function streamOf(nextPiece: () => Uint8Array | undefined): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const piece = nextPiece();
        if (piece === undefined) controller.close();
        else controller.enqueue(piece);
      },
    },
    { highWaterMark: 0 },
  );
}

async function drain(stream: ReadableStream<Uint8Array>): Promise<void> {
  const reader = stream.getReader();
  while (!(await reader.read()).done);
}

function wrong(reason: string, ofKey = false): SignatureVerdict {
  return { isRight: false, reason, ofKey };
}
