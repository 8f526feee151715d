import type { JobStatus } from '../assets/job.ts';
import type { ClusterDescription } from '../cluster/describe.ts';
import type { Missing } from '../doctor/missing.ts';
import { formatProblem } from '../document/problem.ts';
import { describeEvent } from '../events/describe.ts';
import type { Event } from '../events/kinds.ts';
import type { InventoryKeeper } from '../inventory/keeper.ts';
import type { HostSpec } from '../inventory/model.ts';
import { type HostSummary, type Observed, summariseHost } from '../machine/describe-host.ts';
import type { Advertised } from '../net/advertise.ts';
import { BOOT_FILES } from '../netboot/dhcp.ts';
import type { Readiness } from '../readiness.ts';
import type { TransferStatus } from '../tftp/service.ts';
import { clusterCard } from './cluster-card.ts';
import { eventRow } from './event-row.ts';

export interface StatusInput {
  version: string;
  readiness: Readiness;
  inventory: Pick<InventoryKeeper, 'index' | 'revision' | 'rejection' | 'warnings'>;
  /** What was seen of each host, in the order of the inventory. */
  observed: readonly Observed[];
  /** What is on its way to a host over HTTP. */
  progress: (host: string) => Download | undefined;
  lastEvent: (host: string) => Event | undefined;
  now: number;
  advertise: Advertised;
  missing: Missing[];
  transfers: TransferStatus[];
  /** The job on images that runs, or the last one. */
  assetJob: JobStatus | undefined;
  events: Event[];
  /** How the clusters are. */
  clusterStates: readonly ClusterDescription[];
}

interface Download {
  file: string;
  bytes: number;
  size: number;
}

/** A page of thousands of rows helps nobody; the command line and the API have them all. */
const HOSTS_SHOWN = 500;

/** Everything the status page shows, ready to be printed. Pure. */
export function statusView(input: StatusInput) {
  const { version, readiness, inventory, observed, progress, lastEvent, now } = input;
  const { advertise, missing, transfers, events } = input;
  const { hosts, clusters } = inventory.index.inventory;
  const clusterStates = new Map(input.clusterStates.map((one) => [one.name, one]));
  return {
    version,
    ready: readiness.ready,
    // A refused inventory has a card of its own, with every problem on a line.
    reasons: readiness.reasons.filter(({ part }) => part !== 'inventory'),
    notes: readiness.notes.filter(({ part }) => part !== 'inventory'),
    alarms: hosts.flatMap(({ name }, at) => alarmsOf(name, observed[at])),
    revision: inventory.revision ?? 'none yet',
    problems: (inventory.rejection?.problems ?? []).map(formatProblem),
    warnings: inventory.warnings.map(formatProblem),
    missing,
    dhcp: { nextServer: advertise.address, ...BOOT_FILES },
    clusters: clusters.map((cluster) => ({
      name: cluster.name,
      kubernetes: cluster.kubernetes,
      endpoint: clusterStates.get(cluster.name)?.endpoint ?? cluster.endpoint ?? '–',
      ...clusterCard(clusterStates.get(cluster.name)),
      hosts: hosts.filter((host) => host.cluster === cluster.name && host.member).length,
    })),
    transfers: transfers.slice(0, HOSTS_SHOWN).map(({ name, host, file, bytes, size, retransmits }) => ({
      client: name,
      host: host ?? '–',
      file,
      percent: percentOf(bytes, size),
      retransmits,
    })),
    images: input.assetJob === undefined ? undefined : imagesView(input.assetJob),
    hosts: hosts.slice(0, HOSTS_SHOWN).map((host, at) => ({
      ...hostRow(host, observed[at], progress(host.name)),
      last: lastOf(lastEvent(host.name), now),
    })),
    hostCount: hosts.length,
    moreHosts: Math.max(0, hosts.length - HOSTS_SHOWN),
    events: events.toReversed().map(eventRow),
  };
}

/** How far the mirror is: what is on its way, and what could not be had. */
function imagesView({ job, state, files, bytes, size, rate }: JobStatus) {
  const isOver = ({ state: each }: JobStatus['files'][number]) => each === 'there' || each === 'added';
  return {
    title: `${job} ${state}`,
    count: `${files.filter(isOver).length} of ${files.length} files`,
    speed: rate > 0 ? `, ${(rate / 1e6).toFixed(1)} MB/s` : '',
    total: downloadOf({ file: '', bytes, size }),
    files: files
      .filter(({ state: each }) => each !== 'there' && each !== 'added' && each !== 'waiting')
      .map((file) => ({
        ...downloadOf({ file: file.name, bytes: file.bytes, size: file.size ?? 0 }),
        state: file.state,
        reason: file.reason ?? '',
      })),
  };
}

/** How far a download is, for a bar and for those who read numbers. */
export function downloadOf({ file, bytes, size }: Download) {
  const megabytes = (count: number) => (count / 1e6).toFixed(1);
  return {
    file,
    percent: percentOf(bytes, size),
    amount: `${megabytes(bytes)} of ${megabytes(size)} MB`,
  };
}

function percentOf(bytes: number, size: number): number {
  return size === 0 ? 100 : Math.floor((bytes / size) * 100);
}

/** What happened last, and how long ago. */
function lastOf(event: Event | undefined, now: number) {
  if (event === undefined) return undefined;
  return { ago: `${duration(now - event.at)} ago`, text: describeEvent(event) };
}

/** Roughly, as people say it. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} d`;
}

/** Machines that want to be a host, with the commands that decide about them. */
function alarmsOf(host: string, observed: Observed | undefined) {
  return (observed?.candidates ?? []).map(({ id, address, nic, reason }) => ({
    host,
    id,
    text: `${address}${nic === null ? '' : ` (NIC ${nic})`}: ${reason}`,
  }));
}

function hostRow(host: HostSpec, observed: Observed | undefined, progress: Download | undefined) {
  const summary: HostSummary = summariseHost(host, observed);
  return {
    ...summary,
    cluster: summary.cluster ?? '–',
    ip: summary.ip ?? '–',
    stage: summary.stage ?? '',
    overdue: summary.overdue ?? '',
    download: progress === undefined ? undefined : downloadOf(progress),
  };
}
