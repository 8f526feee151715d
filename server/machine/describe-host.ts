import { didYouMean } from '../document/nearest.ts';
import { RailheadError } from '../errors.ts';
import type { InventoryIndex } from '../inventory/index.ts';
import { normaliseMac } from '../inventory/mac.ts';
import type { HostSpec } from '../inventory/model.ts';
import { normaliseUuid } from '../inventory/uuid.ts';
import { type HostState, initialState } from './host-state.ts';
import type { CandidateView } from './observe.ts';

/** A host in one line: what lists show, on the command line and on the page. */
export interface HostSummary {
  name: string;
  state: HostState;
  /** How far its boot is, if one is under way. */
  stage: string | null;
  /** What it waits for longer than it should. */
  overdue: string | null;
  /** Machines that want to be it: an operator should decide. */
  candidates: CandidateView[];
  cluster: string | null;
  pool: string;
  role: HostSpec['role'];
  ip: string | null;
  macs: string[];
  os: string;
  kubernetes: string | null;
}

/** What was seen of it; without it, only the inventory speaks. */
export interface Observed {
  state: HostState;
  stage: string | null;
  overdue: string | null;
  candidates: CandidateView[];
}

export function summariseHost(host: HostSpec, observed?: Observed): HostSummary {
  const { os, channel, version, arch } = host.os;
  return {
    name: host.name,
    state: observed?.state ?? initialState(host),
    stage: observed?.stage ?? null,
    overdue: observed?.overdue ?? null,
    candidates: observed?.candidates ?? [],
    cluster: host.cluster ?? null,
    pool: host.pool,
    role: host.role,
    ip: host.ip ?? null,
    macs: host.macs,
    os: `${os} ${channel} ${version} ${arch}`,
    kubernetes: host.kubernetes ?? null,
  };
}

export interface HostDetails {
  name: string;
  state: HostState;
  stage: string | null;
  overdue: string | null;
  candidates: CandidateView[];
  spec: HostSpec;
}

export function describeHost(host: HostSpec, observed?: Observed): HostDetails {
  const { state, stage, overdue, candidates } = summariseHost(host, observed);
  return { name: host.name, state, stage, overdue, candidates, spec: host };
}

/** By name, MAC in any spelling, UUID in either byte order, or serial number: whatever is printed on the machine. */
export function findHost(index: InventoryIndex, wanted: string): HostSpec {
  const mac = normaliseMac(wanted);
  const uuid = normaliseUuid(wanted);
  const found =
    index.host(wanted) ??
    (mac === undefined ? undefined : index.hostByMac(mac)) ??
    (uuid === undefined ? undefined : index.hostByUuid(uuid)) ??
    index.hostBySerial(wanted);
  if (found !== undefined) return found;
  const names = index.inventory.hosts.map((host) => host.name);
  throw new RailheadError(
    'RH_HOST_UNKNOWN',
    `There is no host "${wanted}" in the inventory${didYouMean(wanted, names)}`,
    {
      hint: '`npx railhead hosts` lists them all.',
    },
  );
}
