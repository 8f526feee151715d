import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { RailheadError, systemCode, toRailheadError } from '../errors.ts';
import { SCHEMA_VERSION } from '../store/migrate.ts';
import type { Store } from '../store/store.ts';
import { allRows, type Row } from '../store/tables.ts';
import { VERSION } from '../version.ts';
import { type BackupRecord, writeBackup } from './format.ts';

export interface MadeBackup {
  rows: number;
  /** Files from the keys folder; none without a passphrase. */
  keys: number;
}

/** Writes a consistent copy of the store, also while a server is using it; keys only when they are encrypted. */
export async function makeBackup(
  store: Store,
  keysDir: string,
  path: string,
  passphrase: string | undefined,
): Promise<MadeBackup> {
  if (existsSync(path)) {
    throw new RailheadError('RH_USAGE', `${path} is there already; it was left as it is.`, {
      hint: 'Choose another name.',
    });
  }
  const made: MadeBackup = { rows: 0, keys: 0 };
  const header = { version: VERSION, schema: SCHEMA_VERSION, createdAt: new Date().toISOString() };
  const unfinished = `${path}.unfinished`;
  try {
    await rm(unfinished, { force: true });
    await writeBackup(
      unfinished,
      header,
      records(store, keysDir, passphrase !== undefined, made),
      passphrase,
    );
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => {});
    throw explain(error, path);
  }
  await rename(unfinished, path);
  return made;
}

function explain(error: unknown, path: string): unknown {
  const code = systemCode(error) ?? '';
  if (toRailheadError(error).code !== 'RH_INTERNAL' || !/^E[A-Z]+$/.test(code)) return error;
  const isPlace = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(code);
  const message = `Can't write the backup ${path}: ${isPlace ? 'there is no such folder' : 'no right to'} (${code}).`;
  return new RailheadError(isPlace ? 'RH_USAGE' : 'RH_DATA_UNUSABLE', message, { cause: error });
}

async function* records(
  store: Store,
  keysDir: string,
  withKeys: boolean,
  made: MadeBackup,
): AsyncGenerator<BackupRecord> {
  for await (const { table, row } of allRows(store)) {
    made.rows++;
    yield { table, row: encodeRow(row) };
  }
  if (!withKeys) return;
  for (const name of await readdir(keysDir)) {
    if (name.endsWith('.new')) continue; // a write that was interrupted
    made.keys++;
    yield { file: name, base64: (await readFile(join(keysDir, name))).toString('base64') };
  }
}

/** JSON has no bytes. */
export function encodeRow(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([key, value]) => [
      key,
      Buffer.isBuffer(value) ? { base64: value.toString('base64') } : value,
    ]),
  );
}

export function decodeRow(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([key, value]) => [
      key,
      typeof value === 'object' && value !== null
        ? Buffer.from((value as { base64: string }).base64, 'base64')
        : value,
    ]),
  );
}
