import type { PrivateKey } from 'openpgp';
import { feedKeyFile } from '../access/key-files.ts';
import { RailheadError } from '../errors.ts';
import { readIfThere, writeSecretFile } from '../secret-file.ts';

/** Machines with a dead clock battery boot in the past, and gpg refuses a key from the future. */
const CREATED = new Date('2020-01-01T00:00:00Z');

/**
 * The appliance's OpenPGP key. Hosts have its public part in /etc/systemd/import-pubring.gpg; its private part never
 * leaves the keys folder. Ed25519 in the form that every gpg since 2.1 knows: OpenPGP's newer one is refused by those
 * that systemd calls today.
 */
export class FeedKey {
  readonly #keysDir: string;
  #loaded: Promise<PrivateKey> | undefined;
  #keyring: Buffer | undefined;

  constructor(keysDir: string) {
    this.#keysDir = keysDir;
  }

  /** Makes the key at the first start. */
  async start(): Promise<void> {
    const file = feedKeyFile(this.#keysDir);
    if ((await readIfThere(file)) !== undefined) return;
    const { generateKey } = await openpgp();
    const { privateKey } = await generateKey({
      type: 'ecc',
      curve: 'ed25519Legacy',
      userIDs: [{ name: 'Railhead sysext feed' }],
      date: CREATED,
      subkeys: [],
      format: 'armored',
    });
    await writeSecretFile(file, privateKey);
  }

  /** The public part as a keyring that gpg takes as it is (not armored). */
  async publicKeyring(): Promise<Buffer> {
    const key = await this.#key();
    // Every configuration has it, and packing it takes as long as all the rest of one.
    this.#keyring ??= Buffer.from(key.toPublic().write());
    return this.#keyring;
  }

  /** In upper-case hex, as gpg shows it. */
  async fingerprint(): Promise<string> {
    return (await this.#key()).getFingerprint().toUpperCase();
  }

  /** A detached signature, not armored. */
  async sign(bytes: Uint8Array, now: number): Promise<Buffer> {
    const { createMessage, sign } = await openpgp();
    const signature = await sign({
      message: await createMessage({ binary: bytes }),
      signingKeys: await this.#key(),
      detached: true,
      format: 'binary',
      // A signature that is older than its key is refused, and this machine's clock may be wrong, too.
      date: new Date(Math.max(now, CREATED.getTime())),
    });
    return Buffer.from(signature as Uint8Array);
  }

  #key(): Promise<PrivateKey> {
    this.#loaded ??= this.#load().catch((error: unknown) => {
      this.#loaded = undefined;
      throw error;
    });
    return this.#loaded;
  }

  async #load(): Promise<PrivateKey> {
    const file = feedKeyFile(this.#keysDir);
    try {
      const { readPrivateKey } = await openpgp();
      return await readPrivateKey({ armoredKey: (await readIfThere(file)) ?? '' });
    } catch (error) {
      throw new RailheadError(
        'RH_DATA_UNUSABLE',
        `The key that signs the sysext feed can't be read (${file}).`,
        {
          hint: 'Restore it from a backup. Without one, remove it and start again: hosts then need the new public key.',
          cause: error,
        },
      );
    }
  }
}

/** Only when it is needed: loading it takes longer than most commands. */
function openpgp(): Promise<typeof import('openpgp')> {
  return import('openpgp');
}
