import { Argument, type Command } from 'commander';
import type { Inventory } from '../inventory/model.ts';
import { DHCP_SERVERS, type DhcpServer, dhcpSnippet } from '../netboot/dhcp.ts';
import { connect, withServer } from './client.ts';
import { type CliIo, printJson } from './io.ts';

export function registerDhcp(program: Command, io: CliIo): void {
  withServer(program.command('dhcp'))
    .description('Print what to put into the configuration of a DHCP server')
    .addArgument(new Argument('<SERVER>', 'Which DHCP server').choices([...DHCP_SERVERS]))
    .option('--json', 'Print JSON')
    .action(async (server: DhcpServer, flags) => {
      const client = await connect(io, flags);
      const [{ inventory }, { advertise }] = await Promise.all([
        client.get<{ inventory: Inventory }>('/api/v1/revisions/in-force'),
        client.get<{ advertise: { url: string; address: string } }>('/api/v1/server'),
      ]);
      const snippet = dhcpSnippet(server, {
        nextServer: advertise.address,
        baseUrl: advertise.url,
        inventory,
      });
      if (flags.json) return printJson(io.stdout, { server, snippet });
      io.stdout.write(snippet);
    });
}
