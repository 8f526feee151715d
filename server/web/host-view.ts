import type { Event } from '../events/kinds.ts';
import type { HostSpec } from '../inventory/model.ts';
import { describeWaiting, type Observation } from '../machine/observe.ts';
import type { Decision } from '../netboot/decide.ts';
import { eventRow } from './event-row.ts';
import { downloadOf } from './status-view.ts';

export interface HostPageInput {
  version: string;
  host: HostSpec;
  observed: Observation;
  decision: Decision;
  menus: Record<string, string>;
  /** What is on its way to it over HTTP. */
  progress: Parameters<typeof downloadOf>[0] | undefined;
  events: Event[];
}

/** One host: what it is, what it would get now, and everything that happened to it. Pure. */
export function hostView(input: HostPageInput) {
  const { version, host, observed, decision, menus, progress, events } = input;
  const { os, channel, version: osVersion, arch, install } = host.os;
  const facts: [string, string | undefined][] = [
    ['cluster', host.cluster],
    ['pool', `${host.pool} (${host.role})`],
    ['os', `${os} ${channel} ${osVersion} ${arch}, ${install}`],
    ['MACs', host.macs.join(', ') || undefined],
    ['UUID', host.uuid],
    ['serial', host.serial],
    ['IP', host.ip],
    ['generation', observed.identity === null ? undefined : String(observed.identity.generation)],
    [
      'window',
      observed.window === null
        ? undefined
        : `open since ${timeOf(observed.window.openedAt)} (${observed.window.reason})`,
    ],
    ['last seen', observed.lastSeen === null ? 'never' : timeOf(observed.lastSeen)],
  ];
  return {
    version,
    name: host.name,
    state: observed.state,
    stage: observed.stage ?? '',
    overdue: observed.overdue ?? '',
    waiting: observed.waiting === null || observed.waiting.isLate ? '' : describeWaiting(observed.waiting),
    download: progress === undefined ? undefined : downloadOf(progress),
    hold: observed.hold ?? '',
    candidates: observed.candidates.map(({ id, address, nic, reason }) => ({
      id,
      text: `${address}${nic === null ? '' : ` (NIC ${nic})`}: ${reason}`,
    })),
    decision: `${decision.action}: ${decision.why}`,
    facts: facts.flatMap(([label, value]) => (value === undefined ? [] : [{ label, value }])),
    menus: Object.entries(menus).map(([kind, text]) => ({ kind, text })),
    events: events.toReversed().map(eventRow),
  };
}

function timeOf(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
