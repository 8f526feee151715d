import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { JobStatus } from '../assets/job.ts';
import type { Pruned } from '../assets/prune.ts';
import type { AssetUsage, AssetView } from '../assets/service.ts';
import { formatBytes } from './bytes.ts';
import { connect, withServer } from './client.ts';
import { followJob } from './follow-job.ts';
import { type CliIo, print, printJson } from './io.ts';
import { endOf } from './job-report.ts';
import { formatTable } from './table.ts';

/** assets sync|list|verify|prune|import: the images, through the running server. */
export function registerAssets(program: Command, io: CliIo): void {
  const assets = program
    .command('assets')
    .description('Fetch, check and remove operating-system and sysext images');

  withServer(assets.command('sync'))
    .description('Fetch what the inventory needs and is not there yet')
    .option('--refresh', 'Look again what "current" stands for, and for newer signing keys')
    .option('--stop', 'End the job that runs; what it has fetched is kept for the next one')
    .option('--json', 'Print JSON when it is over')
    .action(async (flags) => {
      const client = await connect(io, flags);
      if (flags.stop) {
        const { job } = await client.post<{ job: JobStatus | null }>('/api/v1/assets/stop');
        if (flags.json) return printJson(io.stdout, job);
        return print(io.stdout, job === null ? 'No job was under way.' : endOf(job));
      }
      const begun = await client.post<JobStatus>('/api/v1/assets/sync', { refresh: flags.refresh === true });
      await followJob(io, client, begun, flags);
    });

  withServer(assets.command('import'))
    .description('Take what the inventory needs from a folder, a USB stick or a file, with the same checks')
    .argument('<PATH>', 'Folder or file, on the machine that the server runs on')
    .option('--json', 'Print JSON when it is over')
    .action(async (path: string, flags) => {
      const client = await connect(io, flags);
      const order = { path: resolve(io.cwd, path) };
      await followJob(io, client, await client.post<JobStatus>('/api/v1/assets/import', order), flags);
    });

  withServer(assets.command('verify'))
    .description('Read every image again and compare it with what was recorded when it was verified')
    .option('--json', 'Print JSON when it is over')
    .action(async (flags) => {
      const client = await connect(io, flags);
      await followJob(io, client, await client.post<JobStatus>('/api/v1/assets/verify'), flags);
    });

  withServer(assets.command('list'))
    .description('List the images that are there or needed, and the room that they take')
    .option('--json', 'Print JSON')
    .action(async (flags) => {
      const client = await connect(io, flags);
      const views = await client.get<AssetView[]>('/api/v1/assets');
      if (flags.json) return printJson(io.stdout, views);
      const { usage } = await client.get<{ usage: AssetUsage }>('/api/v1/assets/job');
      const rows = views.map(({ name, state, size, needed, verifiedHow }) => [
        name,
        state,
        size === null ? '-' : formatBytes(size),
        needed ? 'yes' : 'no',
        verifiedHow ?? '-',
      ]);
      print(io.stdout, formatTable(['name', 'state', 'size', 'needed', 'verified by'], rows));
      print(
        io.stdout,
        '',
        `${formatBytes(usage.bytes)} in ${usage.contents} files, ${formatBytes(usage.free)} free.`,
      );
    });

  withServer(assets.command('prune'))
    .description('Remove images that no host, no cluster and no boot under way needs')
    .option('--dry-run', 'Only show what would be removed')
    .option('--json', 'Print JSON')
    .action(async (flags) => {
      const client = await connect(io, flags);
      const dryRun = flags.dryRun === true;
      const pruned = await client.post<Pruned[]>('/api/v1/assets/prune', { dryRun });
      if (flags.json) return printJson(io.stdout, pruned);
      if (pruned.length === 0) return print(io.stdout, 'There is nothing that could go.');
      const rows = pruned.map(({ name, size, why }) => [name, formatBytes(size), why]);
      print(io.stdout, formatTable(['name', 'size', 'why'], rows));
      const bytes = formatBytes(pruned.reduce((sum, { size }) => sum + size, 0));
      print(io.stdout, '', dryRun ? `${bytes} would be removed.` : `${bytes} removed.`);
    });
}
