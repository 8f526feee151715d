import type { Command } from 'commander';
import type { ClusterDescription } from '../cluster/describe.ts';
import { examine } from '../doctor/checks.ts';
import type { Finding } from '../doctor/finding.ts';
import { EXIT, RailheadError } from '../errors.ts';
import type { Advertised } from '../net/advertise.ts';
import type { Readiness } from '../readiness.ts';
import { connect, type ServerFlags } from './client.ts';
import { shownAs } from './inventory-folder.ts';
import { type CliIo, print, printJson } from './io.ts';
import { settingsFor, withSettings } from './settings.ts';

const MARKS = { ok: 'ok  ', warn: 'WARN', fail: 'FAIL' } as const;

export function registerDoctor(program: Command, io: CliIo): void {
  withSettings(program.command('doctor'))
    .description('Look for whatever keeps machines from booting, and say what to do')
    .option('--json', 'Print JSON')
    .addHelpText('after', '\nExit code 1 when something fails; warnings alone are no failure.')
    .action(async (flags) => {
      const settings = await settingsFor(io, flags);
      const { running, fault } = await runningServer(io, flags);
      const findings = await examine({
        settings,
        inventoryShownAs: shownAs(io, settings.inventory),
        nodeVersion: process.versions.node,
        nodeBinary: io.nodeBinary,
        env: io.env,
        running,
        clusterVersions: running?.clusterVersions ?? new Map(),
      });
      for (const { part, message } of running?.readiness.reasons ?? []) {
        findings.push({ name: `server: ${part}`, status: 'fail', message });
      }
      if (fault !== undefined) findings.push(fault);
      if (flags.json) printJson(io.stdout, findings);
      else for (const finding of findings) print(io.stdout, ...format(finding));
      if (findings.some(({ status }) => status === 'fail')) io.setExitCode(EXIT.notRight);
    });
}

interface Running {
  url: string;
  advertise: Advertised;
  readiness: Readiness;
  clusterVersions: ReadonlyMap<string, string>;
}

async function runningServer(io: CliIo, flags: ServerFlags): Promise<{ running?: Running; fault?: Finding }> {
  try {
    const client = await connect(io, flags);
    const readiness = await client.get<Readiness>('/readyz');
    const { advertise } = await client.get<{ advertise: Advertised }>('/api/v1/server');
    const clusters = await client.get<ClusterDescription[]>('/api/v1/clusters');
    const versions = clusters.flatMap(({ name, api }) =>
      api.version === null ? [] : [[name, api.version] as const],
    );
    return { running: { url: client.url, advertise, readiness, clusterVersions: new Map(versions) } };
  } catch (error) {
    if (!(error instanceof RailheadError) || error.exitCode !== EXIT.server) throw error;
    if (error.code === 'RH_SERVER_NOT_RUNNING') return {};
    const { message, hint } = error;
    return {
      fault: { name: 'server', status: 'fail', message, ...(hint === undefined ? {} : { fix: hint }) },
    };
  }
}

function format({ name, status, message, fix }: Finding): string[] {
  const line = `${MARKS[status]}  ${name.padEnd(12)} ${message}`;
  return fix === undefined ? [line] : [line, `      ${''.padEnd(12)} ${fix}`];
}
