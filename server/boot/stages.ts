import type { HostState } from '../lifecycle/host-state.ts';

/**
 * The stations of a boot, in order. `served` ones are what this server sees by itself; `reported` ones the host tells.
 * One table for all: what state a stage means, how long the next one may take, and whether it ends the attempt well.
 */
interface StageFacts {
  source: 'served' | 'reported';
  state: HostState;
  /** Seconds until something further must be heard. */
  deadline: number;
  /** The attempt has reached what it was made for. */
  success?: true;
}

export const STAGES = {
  menu: { source: 'served', state: 'netbooting', deadline: 120 },
  'kernel-sent': { source: 'served', state: 'netbooting', deadline: 300 },
  'initrd-sent': { source: 'served', state: 'netbooting', deadline: 300 },
  'pointer-sent': { source: 'served', state: 'netbooting', deadline: 300 },
  'config-sent': { source: 'served', state: 'netbooting', deadline: 600 },
  kernel: { source: 'reported', state: 'netbooting', deadline: 300 },
  initramfs: { source: 'reported', state: 'netbooting', deadline: 300 },
  'dracut-hooks': { source: 'reported', state: 'netbooting', deadline: 300 },
  'ostree-prepare-root': { source: 'reported', state: 'netbooting', deadline: 300 },
  'switch-root': { source: 'reported', state: 'netbooting', deadline: 300 },
  init: { source: 'reported', state: 'netbooting', deadline: 300 },
  'ignition-done': { source: 'reported', state: 'netbooting', deadline: 900 },
  'boot-complete': { source: 'reported', state: 'booted', deadline: 1800, success: true },
  installed: { source: 'reported', state: 'installing', deadline: 900, success: true },
  'sysext-merged': { source: 'reported', state: 'initialized', deadline: 1800, success: true },
  provisioned: { source: 'reported', state: 'initialized', deadline: 1800, success: true },
  'kubeadm-done': { source: 'reported', state: 'joined', deadline: 1800, success: true },
  failed: { source: 'reported', state: 'failed', deadline: 0 },
} as const satisfies Record<string, StageFacts>;

export type Stage = keyof typeof STAGES;

const ORDER = Object.keys(STAGES) as Stage[];
export const REPORTED_STAGES = ORDER.filter((stage) => STAGES[stage].source === 'reported');

export function factsOf(stage: Stage): StageFacts {
  return STAGES[stage];
}

/** Late and repeated reports tell nothing new; a failure always does. */
export function isFurther(stage: Stage, than: Stage): boolean {
  return stage === 'failed' ? than !== 'failed' : ORDER.indexOf(stage) > ORDER.indexOf(than);
}

/** What a host is in between the installer's start and its report is known by the action, not by the stage alone. */
export function stateAt(stage: Stage, action: string): HostState {
  const { state } = STAGES[stage];
  const isInstalling = action === 'install' && state === 'netbooting' && isFurther(stage, 'pointer-sent');
  return isInstalling ? 'installing' : state;
}
