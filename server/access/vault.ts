import { execFile } from 'node:child_process';
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { RailheadError } from '../errors.ts';
import { readIfThere, writeSecretFile } from '../secret-file.ts';
import { vaultKeyFile } from './key-files.ts';

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const FORMAT = 1;
const COMMAND_MS = 30_000;

/**
 * Keeps secrets in the database unreadable without the keys folder, and makes tokens that need not be kept at all:
 * they are derived again from what is known about them.
 */
export class Vault {
  readonly #sealingKey: Buffer;
  readonly #tokenKey: Buffer;

  constructor(key: Buffer) {
    this.#sealingKey = subkey(key, 'seal');
    this.#tokenKey = subkey(key, 'tokens');
  }

  /** `context` says what it is and whose: sealed text can't be moved to another place. */
  seal(content: Buffer, context: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#sealingKey, nonce).setAAD(Buffer.from(context));
    const sealed = Buffer.concat([cipher.update(content), cipher.final()]);
    return Buffer.concat([Buffer.of(FORMAT), nonce, cipher.getAuthTag(), sealed]);
  }

  unseal(sealed: Buffer, context: string): Buffer {
    const start = 1 + NONCE_BYTES + TAG_BYTES;
    try {
      if (sealed[0] !== FORMAT || sealed.length < start) throw new Error('not sealed');
      const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', this.#sealingKey, nonce)
        .setAAD(Buffer.from(context))
        .setAuthTag(sealed.subarray(1 + NONCE_BYTES, start));
      return Buffer.concat([decipher.update(sealed.subarray(start)), decipher.final()]);
    } catch (error) {
      throw new RailheadError(
        'RH_VAULT_KEY',
        `${context} can't be unsealed with the key of the keys folder.`,
        {
          hint: 'Put back the keys folder that belongs to this database; a backup has both.',
          cause: error,
        },
      );
    }
  }

  /** A token of 128 bits, in 22 characters that need no escaping in a URL: always the same for the same facts. */
  token(purpose: string, ...facts: string[]): string {
    return this.#derive(purpose, facts).toString('base64url');
  }

  /** An id of 32 hexadecimal digits that nobody else can work out: always the same for the same facts. */
  id(purpose: string, ...facts: string[]): string {
    return this.#derive(purpose, facts).toString('hex');
  }

  #derive(purpose: string, facts: readonly string[]): Buffer {
    const text = JSON.stringify([purpose, ...facts]);
    return createHmac('sha256', this.#tokenKey).update(text).digest().subarray(0, 16);
  }
}

/** Where the key is, when it is not in the keys folder. */
export interface VaultKeySource {
  /** A file, such as one on a volume that only this machine can mount. */
  file?: string | undefined;
  /** A shell command that prints it, such as one that asks a KMS. */
  command?: string | undefined;
}

/** The vault of the keys folder; its key is made at the first start. One from elsewhere has to be there. */
export async function ensureVault(keysDir: string, source: VaultKeySource = {}): Promise<Vault> {
  if (source.command !== undefined) {
    return new Vault(parseKey(await keyOfCommand(source.command), 'What the vault key command prints'));
  }
  if (source.file !== undefined) return new Vault(await keyOfFile(source.file));
  const file = vaultKeyFile(keysDir);
  const found = await readIfThere(file);
  if (found !== undefined) return new Vault(parseKey(found, file));
  const key = randomBytes(KEY_BYTES);
  await writeSecretFile(file, `${key.toString('base64')}\n`);
  return new Vault(key);
}

async function keyOfFile(file: string): Promise<Buffer> {
  const text = await readIfThere(file);
  if (text !== undefined) return parseKey(text, file);
  throw new RailheadError('RH_VAULT_KEY', `There is no vault key in ${file}.`, {
    hint: `Make one with: head -c ${KEY_BYTES} /dev/urandom | base64 > ${file}`,
  });
}

/** What it prints is never shown, also when it fails. */
async function keyOfCommand(command: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', command], { timeout: COMMAND_MS });
    return stdout;
  } catch (error) {
    const { code, killed } = error as { code?: number | string; killed?: boolean };
    const why = killed ? `took over ${COMMAND_MS / 1000} s` : `failed (${code})`;
    throw new RailheadError('RH_VAULT_KEY', `The vault key command ${why}.`, {
      hint: 'Run it by hand: it has to print the key in base64, and nothing else.',
    });
  }
}

function parseKey(text: string, file: string): Buffer {
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length === KEY_BYTES) return key;
  throw new RailheadError(
    'RH_VAULT_KEY',
    `${file} is not a key: ${key.length} bytes in place of ${KEY_BYTES}.`,
    {
      hint: 'Put back the keys folder that belongs to this database; a backup has both.',
    },
  );
}

function subkey(key: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', `railhead ${purpose}`, KEY_BYTES));
}
