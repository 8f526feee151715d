import type { Command } from 'commander';
import type { ClusterDescription } from '../cluster/describe.ts';
import { RailheadError } from '../errors.ts';
import { connect, withServer } from './client.ts';
import { registerClusterSecrets } from './cluster-secrets.ts';
import { type CliIo, print, printJson } from './io.ts';
import { formatTable } from './table.ts';

/** cluster list, show, secrets, rotate-tokens, reinit. */
export function registerCluster(program: Command, io: CliIo): void {
  const cluster = program
    .command('cluster')
    .description('Clusters: how they are, their secrets, a new beginning');
  registerList(cluster, io);
  registerShow(cluster, io);
  registerClusterSecrets(cluster, io);
  registerRotate(cluster, io);
  registerReinit(cluster, io);
}

function registerList(cluster: Command, io: CliIo): void {
  withServer(cluster.command('list'))
    .description('List the clusters of the inventory')
    .option('--json', 'Print JSON')
    .action(async (flags) => {
      const clusters = await (await connect(io, flags)).get<ClusterDescription[]>('/api/v1/clusters');
      if (flags.json) return printJson(io.stdout, clusters);
      const rows = clusters.map((one) => [
        one.name,
        one.kubernetes,
        one.endpoint ?? '-',
        one.api.state,
        `${one.nodes.filter(({ ready }) => ready === 'True').length}/${one.hosts}`,
        one.init?.host ?? '-',
        one.secrets?.expires['cluster CA'] ?? '-',
      ]);
      const head = ['name', 'kubernetes', 'endpoint', 'api', 'ready', 'begun by', 'CA expires'];
      print(io.stdout, formatTable(head, rows));
    });
}

function registerShow(cluster: Command, io: CliIo): void {
  withServer(cluster.command('show'))
    .description('Show a cluster: its API, nodes, who joins, and when its authorities expire')
    .argument('<CLUSTER>', 'Its name')
    .option('--json', 'Print JSON')
    .action(async (name: string, flags) => {
      const client = await connect(io, flags);
      const one = await client.get<ClusterDescription>(pathOf(name));
      if (flags.json) return printJson(io.stdout, one);
      print(io.stdout, ...describe(one));
    });
}

function describe(one: ClusterDescription): string[] {
  const { api, init, secrets } = one;
  const reason = api.reason === '' ? '' : ` (${api.reason})`;
  return [
    `${one.name}: Kubernetes ${one.kubernetes}, ${one.hosts} hosts`,
    `API        ${one.endpoint ?? 'nobody knows yet where'}: ${api.state}${reason}${api.since === null ? '' : ` since ${api.since}`}${api.version === null ? '' : `, ${api.version}`}`,
    init === null
      ? 'Begun      not yet: the first control-plane host that asks begins it'
      : `Begun      by ${init.host} at ${init.since}${init.done === null ? ', not done yet' : ''}`,
    ...one.joining.map(({ host, role, until }) => `Joining    ${host} (${role}), its turn ends at ${until}`),
    ...(secrets === null
      ? ['Secrets    not made yet']
      : [
          `CA         ${secrets.caHash}`,
          ...Object.entries(secrets.expires).map(([what, day]) => `Expires    ${day}  ${what}`),
          ...secrets.faults.map((fault) => `FAULT      ${fault}`),
        ]),
    ...one.tokens.map(({ id, host, expires }) => `Token      ${id}.… for ${host}, until ${expires}`),
    ...(one.nodes.length === 0
      ? []
      : [
          '',
          formatTable(
            ['node', 'ready', 'reason', 'version', 'since'],
            one.nodes.map(({ name, ready, reason: why, version, since }) => [
              name,
              ready,
              why,
              version,
              since,
            ]),
          ),
        ]),
  ];
}

function registerRotate(cluster: Command, io: CliIo): void {
  withServer(cluster.command('rotate-tokens'))
    .description('Make every bootstrap token that is out worthless; hosts that ask again get new ones')
    .argument('<CLUSTER>', 'Its name')
    .option('--json', 'Print JSON')
    .action(async (name: string, flags) => {
      const client = await connect(io, flags);
      const { tokens } = await client.post<{ tokens: number }>(`${pathOf(name)}/tokens/rotate`);
      if (flags.json) return printJson(io.stdout, { name, tokens });
      print(io.stdout, `${tokens} tokens of ${name} are worthless from now on.`);
    });
}

function registerReinit(cluster: Command, io: CliIo): void {
  withServer(cluster.command('reinit'))
    .description('Let another host begin the cluster: what the first one has built is given up')
    .argument('<CLUSTER>', 'Its name')
    .option('--yes', 'Yes, really')
    .option('--new-secrets', 'With new authorities and keys: who knew the old ones is a stranger then')
    .option('--json', 'Print JSON')
    .addHelpText('after', '\nHosts that had joined must be installed anew: `npx railhead reinstall HOST`.')
    .action(async (name: string, flags) => {
      if (!flags.yes) {
        throw new RailheadError('RH_USAGE', `This gives up the cluster ${name} as it is: add --yes.`);
      }
      const client = await connect(io, flags);
      const body = { yes: true, newSecrets: flags.newSecrets === true };
      const one = await client.post<ClusterDescription>(`${pathOf(name)}/reinit`, body);
      if (flags.json) return printJson(io.stdout, one);
      print(io.stdout, `The first control-plane host of ${name} that asks now begins it.`);
    });
}

function pathOf(name: string): string {
  return `/api/v1/clusters/${encodeURIComponent(name)}`;
}
