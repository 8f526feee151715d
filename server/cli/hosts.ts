import type { Command } from 'commander';
import { formatProblem, isError } from '../document/problem.ts';
import { RailheadError } from '../errors.ts';
import type { Event } from '../events/kinds.ts';
import { InventoryIndex } from '../inventory/index.ts';
import { loadInventoryFolder } from '../inventory/load.ts';
import {
  describeHost,
  findHost,
  type HostDetails,
  type HostSummary,
  summariseHost,
} from '../machine/describe-host.ts';
import { connect, withServer } from './client.ts';
import { formatEvent } from './events.ts';
import { shownAs } from './inventory-folder.ts';
import { type CliIo, print, printJson } from './io.ts';
import { settingsFor, withSettings } from './settings.ts';
import { formatTable } from './table.ts';
import { formatAlarm } from './trust.ts';

export function registerHosts(program: Command, io: CliIo): void {
  withHostSource(program.command('hosts'))
    .description('List the hosts')
    .option('--json', 'Print JSON')
    .action(async (flags) => {
      const hosts =
        flags.inventory === undefined
          ? await (await connect(io, flags)).get<HostSummary[]>('/api/v1/hosts')
          : (await fromFolder(io, flags)).inventory.hosts.map((host) => summariseHost(host));
      if (flags.json) return printJson(io.stdout, hosts);
      const rows = hosts.map(({ name, state, cluster, pool, role, ip, macs }) => [
        name,
        state,
        cluster ?? '-',
        pool,
        role,
        ip ?? '-',
        macs.join(','),
      ]);
      const alarms = hosts.flatMap(formatAlarm);
      if (alarms.length > 0) print(io.stdout, ...alarms, '');
      print(io.stdout, formatTable(['name', 'state', 'cluster', 'pool', 'role', 'ip', 'macs'], rows));
    });
}

export function registerHost(program: Command, io: CliIo): void {
  withHostSource(program.command('host'))
    .description('Show one host')
    .argument('<HOST>', 'Its name, MAC address, UUID or serial number')
    .option('--json', 'Print JSON')
    .action(async (wanted: string, flags) => {
      const details: HostDetails & { events?: Event[] } =
        flags.inventory === undefined
          ? await (await connect(io, flags)).get(`/api/v1/hosts/${encodeURIComponent(wanted)}`)
          : describeHost(findHost(await fromFolder(io, flags), wanted));
      if (flags.json) return printJson(io.stdout, details);
      print(io.stdout, ...formatAlarm(details), ...formatHost(details));
      for (const event of details.events ?? []) print(io.stdout, formatEvent(event));
    });
}

function withHostSource(command: Command): Command {
  return withServer(withSettings(command, ['inventory'])).addHelpText(
    'after',
    '\nAsks the running server; with --inventory DIR, reads that folder instead and needs no server.',
  );
}

async function fromFolder(io: CliIo, flags: Record<string, unknown>): Promise<InventoryIndex> {
  const { inventory: dir } = await settingsFor(io, flags);
  const { inventory, problems } = await loadInventoryFolder(dir, shownAs(io, dir));
  if (inventory === undefined) {
    throw new RailheadError('RH_INVENTORY_INVALID', problems.filter(isError).map(formatProblem).join('\n'));
  }
  return new InventoryIndex(inventory);
}

function formatHost({ name, state, spec }: HostDetails): string[] {
  const { os, channel, version, arch, install } = spec.os;
  const facts: [string, string | undefined][] = [
    ['name', name],
    ['state', state],
    ['cluster', spec.cluster],
    ['pool', `${spec.pool} (${spec.role}${spec.member ? '' : ', not a member'})`],
    ['profile', spec.profile],
    ['os', `${os} ${channel} ${version} ${arch}, ${install}`],
    ['kubernetes', spec.kubernetes],
    ['containerd', spec.containerd],
    ['macs', spec.macs.join(', ') || undefined],
    ['uuid', spec.uuid],
    ['serial', spec.serial],
    ['ip', spec.ip],
    ['disk', spec.disk === undefined ? undefined : text(spec.disk)],
    ['bmc', spec.bmc?.address],
    ['kernel args', spec.kernelArguments.join(' ') || undefined],
    ['snippets', spec.snippets.join(', ') || undefined],
    ...Object.entries(spec.labels).map(([key, value]): [string, string] => ['label', `${key}=${value}`]),
    ...spec.taints.map(({ key, value, effect }): [string, string] => [
      'taint',
      `${key}=${value ?? ''}:${effect}`,
    ]),
    ...Object.entries(spec.variables).map(([key, value]): [string, string] => [
      'variable',
      `${key} = ${text(value)}`,
    ]),
  ];
  return facts.flatMap(([label, value]) => (value === undefined ? [] : [`${label.padEnd(12)} ${value}`]));
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
