import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Inventory } from '../inventory/model.ts';
import { KNOWN_ADDONS } from '../inventory/pipeline-faults.ts';
import { type Chart, chartOf } from '../pipeline/charts.ts';
import type { Defaults } from '../pipeline/defaults.ts';
import type { Finding } from './finding.ts';

/** What a source said, and its clock; or why it said nothing. */
export type Reached = { status: number; date: string | undefined } | { fault: string };

/** Every place that charts come from, once, with who needs it. Pure. */
export function sourcesOf(
  { clusters }: Pick<Inventory, 'clusters'>,
  options: { defaults: Defaults; inventoryDir: string },
): { source: Chart['source']; charts: Chart[] }[] {
  const charts = clusters.flatMap((cluster) =>
    KNOWN_ADDONS.flatMap((addon) => chartOf(cluster, addon, options) ?? []),
  );
  const bySource = Map.groupBy(charts, ({ source }) => ('path' in source ? source.path : source.repository));
  return [...bySource.values()].map((list) => ({ source: list[0]!.source, charts: list }));
}

/** What to ask a repository for, to see whether it is there. Pure. */
export function probeOf(repository: string, chart: Chart): string {
  if (repository.startsWith('oci://')) return `https://${new URL(repository).host}/v2/`;
  if (chart.addon === 'gateway-api') return `${repository}/${chart.version}/${chart.chart}`;
  return `${repository}/index.yaml`;
}

/** Is it there? One line for each. */
export async function examineSource(
  { source, charts }: ReturnType<typeof sourcesOf>[number],
  reach: (url: string) => Promise<Reached>,
): Promise<{ finding: Finding; date?: string }> {
  const wanted = [...new Set(charts.map(({ addon }) => addon))].join(', ');
  if ('path' in source) return { finding: await examinePath(source.path, charts[0]!, wanted) };
  const { repository } = source;
  const reached = await reach(probeOf(repository, charts[0]!));
  const name = 'chart source';
  if ('fault' in reached) {
    const message = `${repository} (${wanted}): ${reached.fault}`;
    const fix =
      'Look at the network and the proxy settings, or give its add-ons a `path` or another `repository`.';
    return { finding: { name, status: 'warn', message, fix } };
  }
  const date = reached.date === undefined ? {} : { date: reached.date };
  // A registry asks who is there, and a file server may not: both are there.
  const isThere =
    reached.status < 400 || (repository.startsWith('oci://') && [401, 403].includes(reached.status));
  if (isThere)
    return { finding: { name, status: 'ok', message: `${repository} answers (${wanted})` }, ...date };
  const message = `${repository} (${wanted}) answers with ${reached.status}: there are no charts`;
  return { finding: { name, status: 'warn', message }, ...date };
}

async function examinePath(path: string, { addon }: Chart, wanted: string): Promise<Finding> {
  const name = 'chart source';
  const isThere = async (file: string) =>
    stat(file).then(
      (found) => found.isFile(),
      () => false,
    );
  const isChart =
    (await isThere(path)) || (addon !== 'gateway-api' && (await isThere(join(path, 'Chart.yaml'))));
  if (isChart) return { name, status: 'ok', message: `${path} is there (${wanted})` };
  return { name, status: 'warn', message: `${path} (${wanted}) is no chart: it has no Chart.yaml` };
}

const TOLERATED_SECONDS = 30;

/** Compares our clock with that of a server. Certificates and tokens need a right one. Pure. */
export function judgeClock(dates: readonly string[], now: number): Finding {
  const name = 'clock';
  const others = dates.map((date) => Date.parse(date)).filter((time) => !Number.isNaN(time));
  const other = others[0];
  if (other === undefined) {
    return { name, status: 'ok', message: `${new Date(now).toISOString()}; no other clock could be asked` };
  }
  // Dates in answers have whole seconds, and those are cut off.
  const seconds = Math.round((now - other) / 1000);
  if (Math.abs(seconds) <= TOLERATED_SECONDS) {
    return { name, status: 'ok', message: `right to within ${TOLERATED_SECONDS} s` };
  }
  const how = seconds > 0 ? 'ahead' : 'behind';
  const message = `this clock is ${Math.abs(seconds)} s ${how}: certificates and tokens that it makes may be refused`;
  return { name, status: 'fail', message, fix: 'Set it by NTP, such as with `timedatectl set-ntp true`.' };
}
