import type { HostSpec } from '../inventory/model.ts';

/** Every state a host can be in; see "Host states" in the documentation of the model. */
export const HOST_STATES = [
  'discovered',
  'approved',
  'assigned',
  'netbooting',
  'installing',
  'booted',
  'initialized',
  'bootstrapping',
  'joined',
  'ready',
  'updating',
  'draining',
  'resetting',
  'failed',
  'lost',
  'quarantined',
  'removed',
] as const;

export type HostState = (typeof HOST_STATES)[number];

/** Where a host stands before anything was ever seen of it: what the inventory alone says. */
export function initialState(host: HostSpec): HostState {
  return host.member ? 'assigned' : 'approved';
}
