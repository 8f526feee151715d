import type { Command } from 'commander';
import { connect, withServer } from './client.ts';
import { type CliIo, print, printJson } from './io.ts';
import { formatTable } from './table.ts';

interface Machine {
  name: string;
  uuid: string | null;
  serial: string | null;
  vendor: string | null;
  address: string | null;
  firstSeen: string;
  lastSeen: string;
}

/** Machines that asked for a menu and are not in the inventory, and how to make one of them a host. */
export function registerMachines(program: Command, io: CliIo): void {
  withServer(program.command('machines'))
    .description('List machines that asked to boot and are not in the inventory')
    .option('--json', 'Print JSON')
    .action(async (flags) => {
      const machines = await (await connect(io, flags)).get<Machine[]>('/api/v1/machines');
      if (flags.json) return printJson(io.stdout, machines);
      const rows = machines.map((machine) => [
        machine.name,
        machine.uuid ?? '-',
        machine.serial ?? '-',
        machine.vendor ?? '-',
        machine.address ?? '-',
        machine.lastSeen,
      ]);
      print(io.stdout, formatTable(['mac', 'uuid', 'serial', 'vendor', 'address', 'last seen'], rows));
    });

  withServer(program.command('adopt'))
    .description('Write a machine into the inventory')
    .argument('<MAC>', 'Its MAC address, as `railhead machines` shows it')
    .requiredOption('--pool <POOL>', 'The pool it becomes a member of')
    .requiredOption('--name <NAME>', 'Its host name')
    .option('--json', 'Print JSON')
    .action(async (mac: string, flags) => {
      const query = new URLSearchParams({ pool: flags.pool, name: flags.name });
      const client = await connect(io, flags);
      const done = await client.post<{ name: string; file: string }>(
        `/api/v1/machines/${encodeURIComponent(mac)}/adopt?${query}`,
      );
      if (flags.json) return printJson(io.stdout, done);
      print(io.stdout, `${done.name} is in ${done.file}.`);
    });
}
