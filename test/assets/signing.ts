import { createMessage, generateKey, type PrivateKey, sign } from 'openpgp';

export interface TestKey {
  privateKey: PrivateKey;
  /** In ASCII armour, as a key file. */
  publicArmored: string;
  fingerprint: string;
}

/** A key of a test, with a subkey that signs, as Flatcar's has. */
export async function makeKey(
  options: { date?: Date; expiresInSeconds?: number; subkeyExpiresInSeconds?: number } = {},
): Promise<TestKey> {
  const { date, expiresInSeconds = 0, subkeyExpiresInSeconds = 0 } = options;
  const { privateKey, publicKey } = await generateKey({
    type: 'ecc',
    curve: 'ed25519Legacy',
    userIDs: [{ name: 'A test', email: 'test@example.org' }],
    subkeys: [{ sign: true, keyExpirationTime: subkeyExpiresInSeconds }],
    keyExpirationTime: expiresInSeconds,
    format: 'object',
    ...(date === undefined ? {} : { date }),
  });
  return {
    privateKey,
    publicArmored: publicKey.armor(),
    fingerprint: publicKey.getFingerprint().toUpperCase(),
  };
}

/** A detached signature, as a `.sig` has it. */
export async function signatureOf(
  bytes: Buffer,
  { privateKey }: TestKey,
  date = new Date(),
): Promise<Buffer> {
  const message = await createMessage({ binary: new Uint8Array(bytes) });
  const signed = await sign({
    message,
    signingKeys: privateKey,
    detached: true,
    format: 'binary',
    date,
  });
  return Buffer.from(signed as Uint8Array);
}
