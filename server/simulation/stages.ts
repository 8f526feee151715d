import { REPORTED_STAGES, type Stage } from '../machine/stages.ts';
import type { Install } from './hosts.ts';

/** What simulated machines never get to: Flatcar has no OSTree, and no simulated pool has a cluster to join. */
const NEVER: readonly Stage[] = ['ostree-prepare-root', 'kubeadm-done', 'failed'];

/** About how long a machine takes to get to a stage from the one before, in seconds. */
const SECONDS: Partial<Record<Stage, number>> = {
  kernel: 4,
  initramfs: 2,
  'dracut-hooks': 3,
  'switch-root': 2,
  init: 2,
  'ignition-done': 4,
  'boot-complete': 6,
  installed: 30,
  'sysext-merged': 4,
  provisioned: 10,
};

export interface ReportedStage {
  stage: Stage;
  seconds: number;
}

/** What a machine reports, in order: up to where it reboots into what it installed, and after that. */
export function stagesFor(install: Install): { first: ReportedStage[]; fromDisk: ReportedStage[] } {
  const stages = REPORTED_STAGES.filter((stage) => !NEVER.includes(stage)).map((stage) => ({
    stage,
    seconds: SECONDS[stage] ?? 2,
  }));
  if (install === 'ram') return { first: stages.filter(({ stage }) => stage !== 'installed'), fromDisk: [] };
  const end = stages.findIndex(({ stage }) => stage === 'installed') + 1;
  return { first: stages.slice(0, end), fromDisk: stages.slice(end) };
}
