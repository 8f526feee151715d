import type { Check } from './check.ts';
import { checkConflicts } from './conflicts.ts';
import { checkDisks } from './disks.ts';
import { checkDuplicates } from './duplicates.ts';
import { checkFilesystems } from './filesystems.ts';
import { checkLuks } from './luks.ts';
import { checkNetwork } from './network.ts';
import { checkNodes } from './nodes.ts';
import { checkPasswd } from './passwd.ts';
import { checkRaid } from './raid.ts';
import { checkResources } from './resources.ts';
import { checkUnits } from './units.ts';

/** Every check of a config whose structure is right. */
export const CHECKS: readonly Check[] = [
  checkNetwork,
  checkResources,
  checkPasswd,
  checkNodes,
  checkConflicts,
  checkDisks,
  checkFilesystems,
  checkLuks,
  checkRaid,
  checkUnits,
  checkDuplicates,
];
