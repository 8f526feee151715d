import type { Command } from 'commander';
import { formatProblem, hasErrors } from '../document/problem.ts';
import { RailheadError } from '../errors.ts';
import { diffInventories, EMPTY_INVENTORY, type FieldChange, type ItemChange } from '../inventory/diff.ts';
import { loadInventoryFolder } from '../inventory/load.ts';
import type { Inventory } from '../inventory/model.ts';
import { openRevision } from '../inventory/revision.ts';
import { findRevision, revisionInForce } from '../store/revisions.ts';
import { openExistingStore } from '../store/store.ts';
import { connect, type ServerFlags, wantedServer, withServer } from './client.ts';
import { folderArgument, shownAs } from './inventory-folder.ts';
import { type CliIo, print, printJson } from './io.ts';
import { settingsFor, withSettings } from './settings.ts';

export function registerDiff(program: Command, io: CliIo): void {
  withServer(withSettings(program.command('diff'), ['inventory']))
    .description('Show what an edited inventory would change, host by host, before it is in force')
    .argument('[DIR]', 'Folder with the edit; default: the inventory folder')
    .option('--against <REVISION>', 'Compare with this revision; default: the one in force')
    .option('--json', 'Print JSON')
    .action(async (given: string | undefined, flags) => {
      const settings = await settingsFor(io, flags);
      const dir = folderArgument(io, given, settings.inventory);
      const { inventory, problems } = await loadInventoryFolder(dir, shownAs(io, dir));
      if (inventory === undefined) {
        const faults = problems.filter((problem) => hasErrors([problem])).map(formatProblem);
        throw new RailheadError('RH_INVENTORY_INVALID', faults.join('\n'), {
          hint: 'Mend it first: an inventory with errors is never put in force.',
        });
      }
      const base = await baseline(io, flags, flags.against ?? 'in-force');
      const changes = diffInventories(base.inventory, inventory);
      if (flags.json) return printJson(io.stdout, changes);
      print(io.stdout, `${base.revision ?? 'nothing in force'} -> ${shownAs(io, dir)}`);
      for (const change of changes) print(io.stdout, ...formatChange(change));
      print(io.stdout, summary(changes));
    });
}

interface Baseline {
  revision: string | null;
  inventory: Inventory;
}

/** From the running server, or from the store when none runs. */
async function baseline(io: CliIo, flags: ServerFlags, wanted: string): Promise<Baseline> {
  try {
    return await (await connect(io, flags)).get<Baseline>(`/api/v1/revisions/${encodeURIComponent(wanted)}`);
  } catch (error) {
    const isDown = error instanceof RailheadError && error.code === 'RH_SERVER_NOT_RUNNING';
    if (!isDown || wantedServer(io, flags) !== undefined) throw error;
  }
  const { data, databaseUrl } = await settingsFor(io, flags);
  const store = await openExistingStore({ dataDir: data, databaseUrl });
  try {
    const found = await (wanted === 'in-force' ? revisionInForce(store.db) : findRevision(store.db, wanted));
    if (found !== undefined) return { revision: found.hash, inventory: openRevision(found.document) };
    if (wanted === 'in-force') return { revision: null, inventory: EMPTY_INVENTORY };
    throw new RailheadError('RH_REVISION_UNKNOWN', `There is no revision ${wanted}.`);
  } finally {
    await store.close();
  }
}

const SIGNS = { added: '+', removed: '-', changed: '~' } as const;

function formatChange({ kind, name, change, fields }: ItemChange): string[] {
  return [`${SIGNS[change]} ${kind} ${name}`, ...fields.map((field) => `    ${formatField(field)}`)];
}

function formatField({ field, from, to }: FieldChange): string {
  return `${field}: ${formatValue(from)} -> ${formatValue(to)}`;
}

function formatValue(value: unknown): string {
  if (value === undefined) return '(none)';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function summary(changes: readonly ItemChange[]): string {
  if (changes.length === 0) return 'No change.';
  const hosts = changes.filter((change) => change.kind === 'host');
  const count = (kind: ItemChange['change']): number => hosts.filter(({ change }) => change === kind).length;
  return `Hosts: ${count('added')} added, ${count('changed')} changed, ${count('removed')} removed.`;
}
