import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { RailheadError } from '../errors.ts';
import type { CliIo } from './io.ts';

/** How a passphrase is given: never as an argument, which every user of the machine could read. */
export function withPassphrase(command: Command): Command {
  return command.option(
    '--passphrase-file <FILE>',
    'File whose first line is the passphrase (or RAILHEAD_PASSPHRASE)',
  );
}

export async function passphraseFor(
  io: CliIo,
  flags: Record<string, unknown>,
  question: string | undefined,
): Promise<string | undefined> {
  const file = flags.passphraseFile as string | undefined;
  const given =
    file === undefined
      ? io.env.RAILHEAD_PASSPHRASE
      : (await readPassphraseFile(resolve(io.cwd, file))).split('\n')[0];
  if (given === '') throw new RailheadError('RH_USAGE', 'The passphrase is empty.');
  if (given !== undefined || question === undefined) return given;
  const typed = await io.askSecret(question);
  return typed === '' ? undefined : typed;
}

function readPassphraseFile(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new RailheadError(
      'RH_USAGE',
      `Can't read the passphrase file ${path}: ${error.code ?? error.message}.`,
    );
  });
}
