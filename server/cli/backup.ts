import { resolve } from 'node:path';
import type { Command } from 'commander';
import { makeBackup } from '../backup/make.ts';
import { DataFolder } from '../data-folder.ts';
import { openExistingStore } from '../store/store.ts';
import { type CliIo, print, printJson } from './io.ts';
import { passphraseFor, withPassphrase } from './passphrase.ts';
import { settingsFor, withSettings } from './settings.ts';

export function registerBackup(program: Command, io: CliIo): void {
  withPassphrase(withSettings(program.command('backup'), ['data']))
    .description('Write a consistent copy of the store to a file, also while the server runs')
    .argument('<FILE>', 'Where to; must not exist')
    .option('--json', 'Print JSON')
    .addHelpText('after', '\nKeys and tokens are included only when the file is encrypted by a passphrase.')
    .action(async (given: string, flags) => {
      const settings = await settingsFor(io, flags);
      const path = resolve(io.cwd, given);
      const question = 'Passphrase for the keys (empty: leave the keys out): ';
      const passphrase = await passphraseFor(io, flags, question);
      const store = await openExistingStore({ dataDir: settings.data, databaseUrl: settings.databaseUrl });
      try {
        const { rows, keys } = await makeBackup(store, new DataFolder(settings.data).keys, path, passphrase);
        if (passphrase === undefined) {
          print(
            io.stderr,
            'WARNING: no passphrase was given, so this backup has NO KEYS in it: no CA, no admin token.',
            'A machine restored from it gets new ones. Give --passphrase-file FILE to include them, encrypted.',
          );
        }
        if (flags.json) printJson(io.stdout, { file: path, rows, keys, encrypted: passphrase !== undefined });
        else print(io.stdout, `${path}: ${rows} rows, ${keys === 0 ? 'no keys' : `${keys} keys, encrypted`}`);
      } finally {
        await store.close();
      }
    });
}
