import type { Command } from 'commander';
import { InventoryFile } from '../inventory/schema.ts';
import { type CliIo, printJson } from './io.ts';

export function registerSchema(program: Command, io: CliIo): void {
  program
    .command('schema')
    .description('Print the JSON Schema of the inventory, for editors')
    .option('--json', 'Print JSON (it always is)')
    .action(() => printJson(io.stdout, inventoryJsonSchema()));
}

const OUR_WORDS = new Set(['expected', 'secret']);

/** The schema as editors want it: without our own words, which strict readers refuse. */
export function inventoryJsonSchema(): object {
  const plain = JSON.parse(
    JSON.stringify(InventoryFile, (key, value: unknown) => (OUR_WORDS.has(key) ? undefined : value)),
  ) as object;
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', ...plain };
}
