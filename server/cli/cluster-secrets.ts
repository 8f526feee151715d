import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { ensureVault } from '../access/vault.ts';
import { decryptSecrets, encryptSecrets } from '../cluster/secrets-file.ts';
import { SecretsStore } from '../cluster/secrets-store.ts';
import { DataFolder } from '../data-folder.ts';
import { RailheadError, systemCode } from '../errors.ts';
import { EventLog } from '../events/log.ts';
import { writeSecretFile } from '../secret-file.ts';
import { openExistingStore } from '../store/store.ts';
import { type CliIo, print, printJson } from './io.ts';
import { passphraseFor, withPassphrase } from './passphrase.ts';
import { settingsFor, withSettings } from './settings.ts';

/**
 * Moves the secrets of a cluster between appliances. On the data folder itself, also while the server runs: so they go
 * over no network, and an appliance can be given them before it starts.
 */
export function registerClusterSecrets(cluster: Command, io: CliIo): void {
  const secrets = cluster
    .command('secrets')
    .description('Move the secrets of a cluster to another appliance');
  withPassphrase(withSettings(secrets.command('export'), ['data']))
    .description('Write the secrets of a cluster to a file, encrypted')
    .argument('<CLUSTER>', 'Its name')
    .argument('<FILE>', 'Where to; must not exist')
    .option('--json', 'Print JSON')
    .action(async (name: string, given: string, flags) => {
      const path = resolve(io.cwd, given);
      if (existsSync(path))
        throw new RailheadError('RH_USAGE', `${path} is there already; it was left as it is.`);
      const passphrase = await wanted(io, flags);
      await withStore(io, flags, async (store, events) => {
        const found = await store.find(name);
        if (found === undefined) {
          throw new RailheadError('RH_CLUSTER_UNKNOWN', `Cluster ${name} has no secrets yet.`);
        }
        await events.append({ kind: 'cluster.secrets-exported', data: { cluster: name } });
        await writeSecretFile(path, await encryptSecrets(name, JSON.stringify(found), passphrase));
      });
      if (flags.json) return printJson(io.stdout, { name, file: path });
      print(
        io.stdout,
        `${path}: the secrets of ${name}, encrypted. Who has both this and the passphrase owns it.`,
      );
    });

  withPassphrase(withSettings(secrets.command('import'), ['data']))
    .description('Take over the secrets of a cluster from a file')
    .argument('<CLUSTER>', 'Its name')
    .argument('<FILE>', 'What `export` has written')
    .option('--replace', 'Also when it has some already, which are lost then')
    .option('--json', 'Print JSON')
    .action(async (name: string, given: string, flags) => {
      const content = await readFile(resolve(io.cwd, given), 'utf8').catch((error: unknown) => {
        throw new RailheadError('RH_USAGE', `Can't read ${given} (${systemCode(error)}).`);
      });
      const text = await decryptSecrets(name, content, await wanted(io, flags));
      await withStore(io, flags, (store) => store.import(name, text, { replace: flags.replace === true }));
      if (flags.json) return printJson(io.stdout, { name, imported: true });
      print(io.stdout, `${name} has these secrets from now on.`);
    });
}

async function wanted(io: CliIo, flags: Record<string, unknown>): Promise<string> {
  const passphrase = await passphraseFor(io, flags, 'Passphrase: ');
  if (passphrase !== undefined) return passphrase;
  throw new RailheadError('RH_USAGE', 'Secrets leave the appliance only with a passphrase.');
}

async function withStore<T>(
  io: CliIo,
  flags: Record<string, unknown>,
  work: (secrets: SecretsStore, events: EventLog) => Promise<T>,
): Promise<T> {
  const settings = await settingsFor(io, flags);
  const store = await openExistingStore({ dataDir: settings.data, databaseUrl: settings.databaseUrl });
  const events = new EventLog({
    store,
    now: Date.now,
    keepCount: settings.eventsKeepCount,
    keepDays: settings.eventsKeepDays,
  });
  try {
    const vault = await ensureVault(new DataFolder(settings.data).keys, {
      file: settings.vaultKeyFile,
      command: settings.vaultKeyCommand,
    });
    return await work(new SecretsStore({ store, events, now: Date.now, vault }), events);
  } finally {
    await events.stop();
    await store.close();
  }
}
