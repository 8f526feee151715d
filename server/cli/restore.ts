import { resolve } from 'node:path';
import type { Command } from 'commander';
import { readHeader } from '../backup/format.ts';
import { type CheckedBackup, checkBackup, restoreBackup } from '../backup/restore.ts';
import { DataFolder } from '../data-folder.ts';
import { type CliIo, print, printJson } from './io.ts';
import { passphraseFor, withPassphrase } from './passphrase.ts';
import { settingsFor, withSettings } from './settings.ts';

export function registerRestore(program: Command, io: CliIo): void {
  withPassphrase(withSettings(program.command('restore'), ['data']))
    .description('Check a backup, and restore it into a data folder that no server is using')
    .argument('<FILE>', 'The backup')
    .option('--check', 'Only check it')
    .option(
      '--replace',
      'Put a database that is there aside instead of refusing (on PostgreSQL: empty its tables)',
    )
    .option('--json', 'Print JSON')
    .action(async (given: string, flags) => {
      const settings = await settingsFor(io, flags);
      const path = resolve(io.cwd, given);
      const { header } = await readHeader(path);
      const question = header.encryption === undefined ? undefined : 'Passphrase of the backup: ';
      const passphrase = await passphraseFor(io, flags, question);
      const checked = await checkBackup(path, passphrase);
      if (!flags.check) {
        const data = new DataFolder(settings.data);
        await data.prepare();
        await data.lock();
        try {
          const stamp = new Date().toISOString().replaceAll(/[:.]/g, '-');
          const { databaseUrl } = settings;
          await restoreBackup({
            backup: checked,
            path,
            passphrase,
            data,
            databaseUrl,
            replace: flags.replace === true,
            stamp,
          });
        } finally {
          data.unlock();
        }
      }
      const done = flags.check ? 'is whole' : `restored into ${settings.data}`;
      if (flags.json) printJson(io.stdout, { file: path, restored: !flags.check, ...checked });
      else print(io.stdout, `${path} ${done}.`, ...describe(checked));
      if (checked.keys.length === 0) {
        print(
          io.stderr,
          'WARNING: there are no keys in it: the next start makes a new CA and a new admin token.',
        );
      }
    });
}

function describe({ header, rows, keys }: CheckedBackup): string[] {
  const counts = Object.entries(rows).map(([table, count]) => `${count} ${table}`);
  return [
    `  made ${header.createdAt} by Railhead ${header.version} (schema ${header.schema})`,
    `  ${counts.join(', ')}; ${keys.length === 0 ? 'no keys' : `keys: ${keys.join(', ')}`}`,
  ];
}
