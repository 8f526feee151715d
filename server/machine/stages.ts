import type { HostState } from './host-state.ts';

/**
 * The stations of a boot, in order. `served` ones are what this server sees by itself; `reported` ones the host tells.
 * One table for all: what state a stage means, how long the next one may take, and whether it ends the attempt well.
 */
interface StageFacts {
  source: 'served' | 'reported';
  state: HostState;
  /** What is waited for next, in words. */
  next: string;
  /** Seconds until that must be heard of. */
  deadline: number;
  /** The attempt has reached what it was made for. */
  success?: true;
  /**
   * Who is believed, for what a host reports: everybody with the token of its boot, which crosses the network in clear;
   * only over TLS and from one of its cards (`tls`); only the machine that has registered (`agent`).
   */
  proof?: 'tls' | 'agent';
  /** The host works: from now on it is never given up because of a bad network. */
  works?: true;
}

const reporting = {
  source: 'reported',
  state: 'netbooting',
  next: 'its next report',
  deadline: 300,
} as const;

export const STAGES = {
  menu: { source: 'served', state: 'netbooting', next: 'its kernel to be fetched', deadline: 120 },
  'kernel-sent': { source: 'served', state: 'netbooting', next: 'its initrd to be fetched', deadline: 300 },
  'initrd-sent': {
    source: 'served',
    state: 'netbooting',
    next: 'it to ask for its configuration',
    deadline: 300,
  },
  'pointer-sent': {
    source: 'served',
    state: 'netbooting',
    next: 'it to fetch its configuration',
    deadline: 300,
  },
  'config-sent': { source: 'served', state: 'netbooting', next: 'its first report', deadline: 600 },
  kernel: reporting,
  initramfs: reporting,
  'dracut-hooks': reporting,
  'ostree-prepare-root': reporting,
  'switch-root': reporting,
  init: reporting,
  // Proven: it ends an order to begin anew.
  'ignition-done': { ...reporting, next: 'the system to be up', deadline: 900, proof: 'tls' },
  installed: {
    ...reporting,
    state: 'installing',
    next: 'its first boot from disk',
    deadline: 900,
    success: true,
    proof: 'tls',
  },
  'boot-complete': {
    ...reporting,
    state: 'booted',
    next: 'it to be provisioned',
    deadline: 1800,
    success: true,
    proof: 'tls',
  },
  'sysext-merged': {
    ...reporting,
    state: 'initialized',
    next: 'it to be provisioned',
    deadline: 1800,
    success: true,
    proof: 'agent',
  },
  provisioned: {
    ...reporting,
    state: 'initialized',
    next: 'it to join its cluster',
    deadline: 1800,
    success: true,
    proof: 'agent',
    works: true,
  },
  'kubeadm-done': {
    ...reporting,
    state: 'joined',
    next: 'its node to be ready',
    deadline: 1800,
    success: true,
    proof: 'agent',
    works: true,
  },
  failed: { ...reporting, state: 'failed', next: 'a person', deadline: 0 },
} as const satisfies Record<string, StageFacts>;

export type Stage = keyof typeof STAGES;

const ORDER = Object.keys(STAGES) as Stage[];
export const REPORTED_STAGES = ORDER.filter((stage) => STAGES[stage].source === 'reported');

export function factsOf(stage: Stage): StageFacts {
  return STAGES[stage];
}

/** A failure is always further, and whatever comes after it is further again: what failed was tried anew. */
export function isFurther(stage: Stage, than: Stage): boolean {
  if (stage === than) return false;
  return than === 'failed' || ORDER.indexOf(stage) > ORDER.indexOf(than);
}

/** What a host is in between the installer's start and its report is known by the action, not by the stage alone. */
export function stateAt(stage: Stage, action: string): HostState {
  const { state } = STAGES[stage];
  const isInstalling = action === 'install' && state === 'netbooting' && isFurther(stage, 'pointer-sent');
  return isInstalling ? 'installing' : state;
}
