import type { Command } from 'commander';
import { formatProblem, isError, type Problem } from '../document/problem.ts';
import { EXIT } from '../errors.ts';
import { connect, withServer } from './client.ts';
import { type CliIo, print, printJson } from './io.ts';

interface InventoryStatus {
  revision: string | null;
  hosts: number;
  rejection: { problems: Problem[] } | null;
}

export function registerReload(program: Command, io: CliIo): void {
  withServer(program.command('reload'))
    .description('Make the running server take the inventory as it is on disk now')
    .option('--json', 'Print JSON')
    .action(async (flags) => {
      const status = await (await connect(io, flags)).post<InventoryStatus>('/api/v1/inventory/reload');
      const problems = status.rejection?.problems.filter(isError) ?? [];
      if (flags.json) printJson(io.stdout, status);
      else {
        for (const problem of problems) print(io.stdout, formatProblem(problem));
        const verdict = problems.length > 0 ? 'refused; still in force' : 'in force';
        print(io.stdout, `${verdict}: revision ${status.revision ?? 'none'}, ${status.hosts} hosts`);
      }
      if (problems.length > 0) io.setExitCode(EXIT.notRight);
    });
}
