import type { Command } from 'commander';
import { connect, withServer } from './client.ts';
import { type CliIo, printJson } from './io.ts';

export function registerKubeconfig(program: Command, io: CliIo): void {
  withServer(program.command('kubeconfig'))
    .description("Print an administrator's kubeconfig, good for some hours; it is written down that you did")
    .argument('<CLUSTER>', 'Its name')
    .option('--hours <HOURS>', 'How long it is good for; it can not be taken back before', '8')
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      '\nExample:\n  npx railhead kubeconfig lab > lab.conf && kubectl --kubeconfig lab.conf get nodes',
    )
    .action(async (cluster: string, flags) => {
      const client = await connect(io, flags);
      const query = new URLSearchParams({ hours: flags.hours });
      const path = `/api/v1/clusters/${encodeURIComponent(cluster)}/kubeconfig?${query}`;
      const { kubeconfig } = await client.post<{ kubeconfig: string }>(path);
      if (flags.json) return printJson(io.stdout, { name: cluster, kubeconfig });
      io.stdout.write(kubeconfig);
    });
}
