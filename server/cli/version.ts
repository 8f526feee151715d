import type { Command } from 'commander';
import { SCHEMA_VERSION } from '../store/migrate.ts';
import { VERSION } from '../version.ts';
import { type CliIo, print, printJson } from './io.ts';

export function registerVersion(program: Command, io: CliIo): void {
  program
    .command('version')
    .description('Print the version')
    .option('--json', 'Print JSON')
    .action((flags) => {
      const facts = { version: VERSION, node: process.versions.node, schema: SCHEMA_VERSION };
      if (flags.json) printJson(io.stdout, facts);
      else print(io.stdout, `railhead ${VERSION} (Node ${facts.node}, database schema ${SCHEMA_VERSION})`);
    });
}
