import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { isRecord } from '../document/shape.ts';
import { RailheadError } from '../errors.ts';

/** The secrets of a cluster in a file for another appliance: one object of JSON, encrypted by a passphrase. */
interface SecretsFile {
  railhead: 'cluster-secrets';
  format: 1;
  cluster: string;
  salt: string;
  nonce: string;
  tag: string;
  sealed: string;
}

const SCRYPT = { N: 2 ** 15, r: 8, p: 1, maxmem: 128 * 1024 * 1024 };
const MIN_PASSPHRASE = 8;

export async function encryptSecrets(cluster: string, text: string, passphrase: string): Promise<string> {
  if (passphrase.length < MIN_PASSPHRASE) {
    throw new RailheadError(
      'RH_USAGE',
      `The passphrase is too short: ${MIN_PASSPHRASE} characters at least.`,
    );
  }
  const salt = randomBytes(16);
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', await keyOf(passphrase, salt), nonce);
  cipher.setAAD(Buffer.from(cluster));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  const file: SecretsFile = {
    railhead: 'cluster-secrets',
    format: 1,
    cluster,
    salt: salt.toString('base64'),
    nonce: nonce.toString('base64'),
    tag: cipher.getAuthTag().toString('base64'),
    sealed: sealed.toString('base64'),
  };
  return `${JSON.stringify(file, null, 2)}\n`;
}

/** The secrets in it. Throws when it is none, is another cluster's, or the passphrase is not the one. */
export async function decryptSecrets(cluster: string, content: string, passphrase: string): Promise<string> {
  const file = parse(content);
  if (file.cluster !== cluster) {
    throw new RailheadError(
      'RH_CLUSTER_SECRETS',
      `This file is for the cluster ${file.cluster}, not ${cluster}.`,
    );
  }
  const bytes = (text: string) => Buffer.from(text, 'base64');
  try {
    const key = await keyOf(passphrase, bytes(file.salt));
    const decipher = createDecipheriv('aes-256-gcm', key, bytes(file.nonce));
    decipher.setAAD(Buffer.from(cluster)).setAuthTag(bytes(file.tag));
    return Buffer.concat([decipher.update(bytes(file.sealed)), decipher.final()]).toString();
  } catch {
    // With GCM, both look the same.
    throw new RailheadError('RH_CLUSTER_SECRETS', 'The passphrase is wrong, or the file was changed.');
  }
}

function parse(content: string): SecretsFile {
  try {
    const value: unknown = JSON.parse(content);
    if (isRecord(value) && value.railhead === 'cluster-secrets' && value.format === 1) {
      const { cluster, salt, nonce, tag, sealed } = value;
      if ([cluster, salt, nonce, tag, sealed].every((text) => typeof text === 'string')) {
        return value as unknown as SecretsFile;
      }
    }
  } catch {
    // said below
  }
  throw new RailheadError(
    'RH_CLUSTER_SECRETS',
    'This is no file of cluster secrets that this Railhead can read.',
  );
}

function keyOf(passphrase: string, salt: Buffer): Promise<Buffer> {
  return (promisify(scrypt) as (...args: unknown[]) => Promise<Buffer>)(passphrase, salt, 32, SCRYPT);
}
