import type { Command } from 'commander';
import { RailheadError } from '../errors.ts';
import type { HostSummary } from '../machine/describe-host.ts';
import { connect, withServer } from './client.ts';
import { type CliIo, print, printJson } from './io.ts';

type Decided = { name: string; generation?: number; dismissed?: number };

/** trust: an operator decides which machine is a host. */
export function registerTrust(program: Command, io: CliIo): void {
  withServer(program.command('trust'))
    .description('Decide which machine is a host, when another one wants to be it')
    .argument('[HOST]', 'Its name, MAC address, UUID or serial number')
    .argument('[CANDIDATE]', 'The machine that is the host from now on; without it, list the candidates')
    .option('--keep', 'Keep the machine that the host has, and end the alarm')
    .option('--pool <POOL>', 'For all hosts of a pool: those with one candidate each, or all with --keep')
    .option('--json', 'Print JSON')
    .action(async (host: string | undefined, candidate: string | undefined, flags) => {
      if ((host === undefined) === (flags.pool === undefined) || (candidate !== undefined && flags.keep)) {
        throw new RailheadError('RH_USAGE', 'Name a HOST and a CANDIDATE, or use --keep, or --pool POOL.');
      }
      const client = await connect(io, flags);
      const post = (name: string, path: string) =>
        client.post<Decided>(`/api/v1/hosts/${encodeURIComponent(name)}/${path}`);
      const trust = (name: string, id: string) =>
        post(name, `trust?${new URLSearchParams({ candidate: id })}`);
      if (host !== undefined && candidate === undefined && !flags.keep) {
        const { name, candidates } = await client.get<HostSummary>(
          `/api/v1/hosts/${encodeURIComponent(host)}`,
        );
        if (flags.json) return printJson(io.stdout, candidates);
        return print(
          io.stdout,
          ...(candidates.length > 0 ? formatAlarm({ name, candidates }) : [`${name}: no candidates.`]),
        );
      }
      const decided: Decided[] = [];
      if (host !== undefined) {
        decided.push(await (candidate === undefined ? post(host, 'keep') : trust(host, candidate)));
      } else {
        const hosts = await client.get<HostSummary[]>('/api/v1/hosts');
        for (const { name, pool, candidates } of hosts) {
          if (pool !== flags.pool || candidates.length === 0) continue;
          if (flags.keep) decided.push(await post(name, 'keep'));
          else if (candidates.length === 1) decided.push(await trust(name, candidates[0]!.id));
        }
      }
      if (flags.json) return printJson(io.stdout, decided);
      for (const { name, generation, dismissed } of decided) {
        const how =
          generation === undefined
            ? `kept; ${dismissed} candidates dismissed`
            : `trusted as generation ${generation}; it registers within 30 s`;
        print(io.stdout, `${name}: ${how}`);
      }
      if (decided.length === 0) print(io.stdout, 'Nothing to decide.');
    });
}

/** What an operator has to know to decide, and both commands that end the alarm. */
export function formatAlarm({ name, candidates }: Pick<HostSummary, 'name' | 'candidates'>): string[] {
  if (candidates.length === 0) return [];
  return [
    `ALARM ${name}: another machine wants to be this host`,
    ...candidates.map(({ id, address, nic, uuid, serial, reason, lastSeen }) => {
      const facts = [nic && `NIC ${nic}`, uuid && `UUID ${uuid}`, serial && `serial ${serial}`].filter(
        Boolean,
      );
      const when = new Date(lastSeen).toISOString().slice(0, 19);
      return `  ${id}  ${address}  ${facts.join(', ') || 'no hardware data'}  last seen ${when}Z: ${reason}`;
    }),
    `  railhead trust ${name} CANDIDATE   make it the host; the former machine loses access`,
    `  railhead trust ${name} --keep      keep the machine, end the alarm`,
  ];
}
