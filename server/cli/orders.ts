import type { Command } from 'commander';
import { connect, withServer } from './client.ts';
import { type CliIo, print, printJson } from './io.ts';

interface Ordered {
  name: string;
  decision: { action: string; why: string };
}

/** reinstall, hold, release: what a person orders for one host. */
export function registerOrders(program: Command, io: CliIo): void {
  register('reinstall', 'Install a host anew at its next boot from the network');
  register('release', 'Let a held host boot again, and forget its failed attempts');
  register('hold', 'Let a host boot nothing but its own disk until it is released').option(
    '--reason <TEXT>',
    'Why, for others who look',
    'by hand',
  );

  function register(order: string, description: string): Command {
    return withServer(program.command(order))
      .description(description)
      .argument('<HOST>', 'Its name, MAC address, UUID or serial number')
      .option('--json', 'Print JSON')
      .action(async (host: string, flags) => {
        const query = flags.reason === undefined ? '' : `?${new URLSearchParams({ reason: flags.reason })}`;
        const client = await connect(io, flags);
        const done = await client.post<Ordered>(`/api/v1/hosts/${encodeURIComponent(host)}/${order}${query}`);
        if (flags.json) return printJson(io.stdout, done);
        print(io.stdout, `${done.name}: at its next boot: ${done.decision.action} (${done.decision.why})`);
      });
  }
}
