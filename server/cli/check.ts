import type { Command } from 'commander';
import { loaderProblems } from '../doctor/loaders.ts';
import { isUnfilled, missingLoaders } from '../doctor/missing.ts';
import { formatProblem, isError } from '../document/problem.ts';
import { EXIT } from '../errors.ts';
import { loadInventoryFolder } from '../inventory/load.ts';
import { makeRevision } from '../inventory/revision.ts';
import { folderArgument, shownAs } from './inventory-folder.ts';
import { type CliIo, print, printJson } from './io.ts';
import { settingsFor, withSettings } from './settings.ts';

export function registerCheck(program: Command, io: CliIo): void {
  withSettings(program.command('check'), ['inventory', 'boot'])
    .description('Say whether an inventory is right')
    .argument('[DIR]', 'Folder to check; default: the inventory folder')
    .option('--json', 'Print JSON')
    .addHelpText('after', '\nExit code 1 when there are errors; warnings alone are no error.')
    .action(async (given: string | undefined, flags) => {
      const settings = await settingsFor(io, flags);
      const dir = folderArgument(io, given, settings.inventory);
      const { inventory, problems } = await loadInventoryFolder(dir, shownAs(io, dir));
      // An appliance that has no loader at all yet is the doctor's business.
      if (inventory !== undefined && !(await isUnfilled(settings.boot))) {
        const missing = await missingLoaders(inventory, settings.boot);
        problems.push(
          ...loaderProblems(missing, { inventoryShownAs: shownAs(io, dir), bootDir: settings.boot }),
        );
      }
      const revision = inventory === undefined ? null : makeRevision(inventory).hash;
      const errors = problems.filter(isError).length;
      const warnings = problems.length - errors;
      if (flags.json) {
        printJson(io.stdout, {
          ok: errors === 0,
          revision,
          hosts: inventory?.hosts.length ?? null,
          problems,
        });
      } else {
        for (const problem of problems) print(io.stdout, formatProblem(problem));
        const counts = `${plural(errors, 'error')}, ${plural(warnings, 'warning')}`;
        print(
          io.stdout,
          errors > 0
            ? `${shownAs(io, dir)}: not right: ${counts}`
            : `${shownAs(io, dir)}: right: ${plural(inventory!.hosts.length, 'host')}, revision ${revision}, ${counts}`,
        );
      }
      if (errors > 0) io.setExitCode(EXIT.notRight);
    });
}

function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}
