import { createCipheriv, createDecipheriv, createHash, randomBytes, scrypt } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGunzip, createGzip } from 'node:zlib';
import { RailheadError } from '../errors.ts';

/**
 * A backup file: one line of JSON (the header), then gzipped lines of JSON (the records), then a seal.
 * With a passphrase the records are encrypted (scrypt, AES-256-GCM) and the seal is GCM's tag, which covers the
 * header too; without one the seal is a SHA-256 of everything before it.
 */
export interface BackupHeader {
  railhead: 'backup';
  format: 1;
  version: string;
  /** The version of the database's schema. */
  schema: number;
  createdAt: string;
  encryption?: { salt: string; nonce: string };
}

export type BackupRecord =
  | { table: string; row: Record<string, unknown> }
  | { file: string; base64: string }
  | { end: true; records: number };

const KEY_BYTES = 32;
const SALT_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HASH_BYTES = 32;
const SCRYPT = { N: 2 ** 15, r: 8, p: 1, maxmem: 128 * 1024 * 1024 };
const MAX_HEADER_BYTES = 64 * 1024;

export async function writeBackup(
  path: string,
  header: Omit<BackupHeader, 'railhead' | 'format' | 'encryption'>,
  records: AsyncIterable<BackupRecord>,
  passphrase: string | undefined,
): Promise<void> {
  const full: BackupHeader = { railhead: 'backup', format: 1, ...header };
  if (passphrase !== undefined) {
    full.encryption = {
      salt: randomBytes(SALT_BYTES).toString('base64'),
      nonce: randomBytes(NONCE_BYTES).toString('base64'),
    };
  }
  const headerLine = Buffer.from(`${JSON.stringify(full)}\n`);
  const seal = await makeSeal(full, headerLine, passphrase);
  // Flushed to the disk before it counts as written.
  const sink = createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true });
  sink.write(headerLine);
  await pipeline(Readable.from(lines(records)), createGzip(), seal.transform, sink);
}

/** Reads the whole file once for each call: records are only worth something after the last one has come. */
export async function* readBackup(
  path: string,
  passphrase: string | undefined,
): AsyncGenerator<BackupRecord> {
  const { header, headerBytes } = await readHeader(path);
  const sealBytes = header.encryption === undefined ? HASH_BYTES : TAG_BYTES;
  const size = await fileSize(path);
  const bodyEnd = size - sealBytes;
  if (bodyEnd <= headerBytes.length) throw damaged(path, 'it is cut short');
  const seal = await readRange(path, bodyEnd, size);
  const unseal = await makeUnseal(path, header, headerBytes, seal, passphrase);
  const body = createReadStream(path, { start: headerBytes.length, end: bodyEnd - 1 });
  const gunzip = createGunzip();
  const flow = pipeline(body, unseal, gunzip).catch((error: unknown) => gunzip.destroy(error as Error));
  try {
    let records = 0;
    let ended = false;
    for await (const line of createInterface({ input: gunzip, crlfDelay: Number.POSITIVE_INFINITY })) {
      const record = asRecord(JSON.parse(line));
      if (record === undefined || ended) throw damaged(path, `record ${records + 1} is not one`);
      if ('end' in record) ended = record.records === records;
      records++;
      yield record;
    }
    await flow;
    if (gunzip.errored !== null) throw gunzip.errored;
    if (!ended) throw damaged(path, 'its last record is missing');
  } catch (error) {
    throw error instanceof RailheadError ? error : damaged(path, reasonOf(error, header));
  }
}

export async function readHeader(path: string): Promise<{ header: BackupHeader; headerBytes: Buffer }> {
  const start = await readRange(path, 0, MAX_HEADER_BYTES);
  const headerBytes = start.subarray(0, start.indexOf('\n') + 1);
  try {
    const header: unknown = JSON.parse(headerBytes.toString());
    if (isHeader(header)) return { header, headerBytes };
  } catch {
    // said below
  }
  throw new RailheadError('RH_BACKUP_INVALID', `${path} is not a backup that this Railhead can read.`);
}

function isHeader(value: unknown): value is BackupHeader {
  if (!isObject(value) || value.railhead !== 'backup' || value.format !== 1) return false;
  const { version, schema, createdAt, encryption } = value;
  if (typeof version !== 'string' || typeof createdAt !== 'string') return false;
  if (!Number.isInteger(schema) || (schema as number) < 1) return false;
  if (encryption === undefined) return true;
  return (
    isObject(encryption) && isBase64(encryption.salt, SALT_BYTES) && isBase64(encryption.nonce, NONCE_BYTES)
  );
}

/** A backup may be anybody's work: nothing in it is taken to be what it should be. */
function asRecord(value: unknown): BackupRecord | undefined {
  if (!isObject(value)) return undefined;
  const isRecord =
    (value.end === true && Number.isInteger(value.records)) ||
    (typeof value.file === 'string' && isBase64(value.base64)) ||
    (typeof value.table === 'string' && isObject(value.row) && Object.values(value.row).every(isCell));
  return isRecord ? (value as BackupRecord) : undefined;
}

function isCell(value: unknown): boolean {
  if (isObject(value)) return Object.keys(value).length === 1 && isBase64(value.base64);
  return value === null || typeof value === 'string' || typeof value === 'number';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isBase64(value: unknown, bytes?: number): boolean {
  if (typeof value !== 'string') return false;
  const decoded = Buffer.from(value, 'base64');
  return decoded.toString('base64') === value && (bytes === undefined || decoded.length === bytes);
}

async function* lines(records: AsyncIterable<BackupRecord>): AsyncGenerator<string> {
  let count = 0;
  for await (const record of records) {
    yield `${JSON.stringify(record)}\n`;
    count++;
  }
  yield `${JSON.stringify({ end: true, records: count } satisfies BackupRecord)}\n`;
}

async function makeSeal(
  header: BackupHeader,
  headerLine: Buffer,
  passphrase: string | undefined,
): Promise<{ transform: Transform }> {
  if (header.encryption === undefined || passphrase === undefined) {
    const hash = createHash('sha256').update(headerLine);
    return {
      transform: passThrough(
        (chunk) => {
          hash.update(chunk);
          return chunk;
        },
        () => hash.digest(),
      ),
    };
  }
  const cipher = createCipheriv('aes-256-gcm', await deriveKey(passphrase, header), nonceOf(header));
  cipher.setAAD(headerLine);
  return {
    transform: passThrough(
      (chunk) => cipher.update(chunk),
      () => Buffer.concat([cipher.final(), cipher.getAuthTag()]),
    ),
  };
}

async function makeUnseal(
  path: string,
  header: BackupHeader,
  headerBytes: Buffer,
  seal: Buffer,
  passphrase: string | undefined,
): Promise<Transform> {
  if (header.encryption === undefined) {
    const hash = createHash('sha256').update(headerBytes);
    return passThrough(
      (chunk) => {
        hash.update(chunk);
        return chunk;
      },
      () => {
        if (!hash.digest().equals(seal)) throw damaged(path, 'its checksum is wrong');
        return Buffer.alloc(0);
      },
    );
  }
  if (passphrase === undefined) {
    throw new RailheadError('RH_BACKUP_INVALID', `${path} is encrypted, and no passphrase was given.`, {
      hint: 'Give it with --passphrase-file FILE or RAILHEAD_PASSPHRASE.',
    });
  }
  const decipher = createDecipheriv('aes-256-gcm', await deriveKey(passphrase, header), nonceOf(header));
  decipher.setAAD(headerBytes);
  decipher.setAuthTag(seal);
  return passThrough(
    (chunk) => decipher.update(chunk),
    () => decipher.final(),
  );
}

function passThrough(each: (chunk: Buffer) => Buffer, last: () => Buffer): Transform {
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => done(null, each(chunk)),
    flush(done) {
      try {
        done(null, last());
      } catch (error) {
        done(error as Error);
      }
    },
  });
}

function deriveKey(passphrase: string, header: BackupHeader): Promise<Buffer> {
  const salt = Buffer.from(header.encryption!.salt, 'base64');
  return (promisify(scrypt) as (...args: unknown[]) => Promise<Buffer>)(passphrase, salt, KEY_BYTES, SCRYPT);
}

function nonceOf(header: BackupHeader): Buffer {
  return Buffer.from(header.encryption!.nonce, 'base64');
}

/** With GCM, a wrong passphrase and a changed file look the same: garbage that its tag doesn't fit. */
function reasonOf(error: unknown, header: BackupHeader): string {
  if (header.encryption !== undefined) return 'the passphrase is wrong, or the file was changed';
  return (error as Error).message;
}

function damaged(path: string, reason: string): RailheadError {
  return new RailheadError('RH_BACKUP_INVALID', `The backup ${path} can't be used: ${reason}.`);
}

async function fileSize(path: string): Promise<number> {
  const file = await open(path);
  try {
    return (await file.stat()).size;
  } finally {
    await file.close();
  }
}

async function readRange(path: string, start: number, end: number): Promise<Buffer> {
  let file: FileHandle | undefined;
  try {
    file = await open(path);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(end - start), 0, end - start, start);
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new RailheadError('RH_BACKUP_INVALID', `Can't read ${path}: ${code ?? message}.`, { cause: error });
  } finally {
    await file?.close();
  }
}
