import type { Command } from 'commander';
import type { TransferStatus } from '../tftp/service.ts';
import { connect, withServer } from './client.ts';
import { type CliIo, print, printJson } from './io.ts';
import { formatTable } from './table.ts';

export function registerTransfers(program: Command, io: CliIo): void {
  withServer(program.command('transfers'))
    .description('List the TFTP downloads that are under way')
    .option('--json', 'Print JSON')
    .action(async (flags) => {
      const transfers = await (await connect(io, flags)).get<TransferStatus[]>('/api/v1/transfers');
      if (flags.json) return printJson(io.stdout, transfers);
      const rows = transfers.map(({ name, host, file, bytes, size, seconds, retransmits }) => [
        name,
        host ?? '-',
        file,
        `${bytes}/${size}`,
        `${seconds.toFixed(1)} s`,
        String(retransmits),
      ]);
      print(io.stdout, formatTable(['client', 'host', 'file', 'bytes', 'for', 'resent'], rows));
    });
}
