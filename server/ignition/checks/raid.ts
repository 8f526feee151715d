import { quote } from '../../document/problem.ts';
import type { ConfigPath } from '../spec/place.ts';
import type { IgnitionConfig, Raid } from '../spec/schema.ts';
import type { CheckContext } from './check.ts';
import { pathFault } from './paths.ts';

const WITHOUT_SPARES = ['linear', 'raid0', '0', 'stripe'];
const WITH_SPARES = ['raid1', '1', 'mirror', 'raid4', '4', 'raid5', '5', 'raid6', '6', 'raid10', '10'];

export function checkRaid({ storage }: IgnitionConfig, context: CheckContext): void {
  storage?.raid?.forEach((raid, index) => {
    const path = ['storage', 'raid', index];
    if (raid.name === '') context.warning([...path, 'name'], 'the array has no name; give it one');
    checkLevel(raid, [...path, 'level'], context);
    if (raid.devices === undefined || raid.devices.length === 0) {
      context.error([...path, 'devices'], 'an array needs devices; list them');
    }
    raid.devices?.forEach((device, n) => {
      const fault = pathFault(device);
      if (fault !== undefined) context.error([...path, 'devices', n], fault);
    });
  });
}

function checkLevel({ level = '', spares = 0 }: Raid, path: ConfigPath, context: CheckContext): void {
  if (WITHOUT_SPARES.includes(level)) {
    if (spares !== 0)
      context.error(path, `${quote(level)} can't use spares; remove them or take another level`);
  } else if (!WITH_SPARES.includes(level)) {
    const got = level === '' ? 'nothing' : quote(level);
    context.error(path, `expected one of linear, raid0, raid1, raid4, raid5, raid6, raid10, got ${got}`);
  }
}
