import type { Decision } from '../boot/decide.ts';
import type { Observation } from '../boot/observe.ts';
import type { Event } from '../events/kinds.ts';
import type { HostSpec } from '../inventory/model.ts';
import { eventRow } from './event-row.ts';

export interface HostPageInput {
  version: string;
  host: HostSpec;
  observed: Observation;
  decision: Decision;
  menus: Record<string, string>;
  events: Event[];
}

/** One host: what it is, what it would get now, and everything that happened to it. Pure. */
export function hostView({ version, host, observed, decision, menus, events }: HostPageInput) {
  const { os, channel, version: osVersion, arch, install } = host.os;
  const facts: [string, string | undefined][] = [
    ['cluster', host.cluster],
    ['pool', `${host.pool} (${host.role})`],
    ['os', `${os} ${channel} ${osVersion} ${arch}, ${install}`],
    ['MACs', host.macs.join(', ') || undefined],
    ['UUID', host.uuid],
    ['serial', host.serial],
    ['IP', host.ip],
    ['last seen', observed.lastSeen === null ? 'never' : new Date(observed.lastSeen).toISOString()],
  ];
  return {
    version,
    name: host.name,
    state: observed.state,
    stage: observed.stage ?? '',
    overdue: observed.overdue ?? '',
    hold: observed.hold ?? '',
    decision: `${decision.action}: ${decision.why}`,
    facts: facts.flatMap(([label, value]) => (value === undefined ? [] : [{ label, value }])),
    menus: Object.entries(menus).map(([kind, text]) => ({ kind, text })),
    events: events.toReversed().map(eventRow),
  };
}
