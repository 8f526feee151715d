import { quote } from '../../document/problem.ts';
import type { ConfigPath } from '../spec/place.ts';
import type { Dropin, IgnitionConfig, Unit } from '../spec/schema.ts';
import type { CheckContext } from './check.ts';
import { readUnit, type UnitText } from './unit-text.ts';

const KINDS = [
  ...['service', 'socket', 'device', 'mount', 'automount', 'swap'],
  ...['target', 'path', 'timer', 'snapshot', 'slice', 'scope'],
];

export function checkUnits({ systemd }: IgnitionConfig, context: CheckContext): void {
  const units = systemd?.units ?? [];
  units.forEach((unit, index) => {
    const path = ['systemd', 'units', index];
    checkUnit(unit, path, context);
    unit.dropins?.forEach((dropin, n) => {
      checkDropin(dropin, [...path, 'dropins', n], context);
    });
  });
  checkTemplates(units, context);
}

function checkUnit(
  { name, contents, enabled, mask, dropins }: Unit,
  path: ConfigPath,
  context: CheckContext,
): void {
  if (!KINDS.includes(ending(name))) {
    context.error(
      [...path, 'name'],
      `expected a name that ends in .service, .mount, .timer …, got ${quote(name)}`,
    );
  } else if (name.includes('/') || name.startsWith('.')) {
    context.warning(
      [...path, 'name'],
      `${quote(name)} is no name that systemd takes; write one such as "a.service"`,
    );
  }
  const text = checkText(contents, [...path, 'contents'], context);
  if (text !== undefined && enabled === true && !text.filled.has('Install')) {
    context.warning(
      [...path, 'contents'],
      'it is enabled but has no [Install] section, so that nothing starts it',
    );
  }
  if (text !== undefined && mask === true) {
    context.warning([...path, 'mask'], 'a masked unit has no contents; remove one of the two');
  }
  const doesNothing = !contents && enabled === undefined && mask === undefined && !dropins?.length;
  if (doesNothing)
    context.warning(path, `nothing is said about ${quote(name)}; give it contents, or remove it`);
}

function checkDropin({ name, contents }: Dropin, path: ConfigPath, context: CheckContext): void {
  checkText(contents, [...path, 'contents'], context);
  if (ending(name) !== 'conf') {
    context.error([...path, 'name'], `expected a name that ends in .conf, got ${quote(name)}`);
  }
  if (!contents)
    context.warning([...path, 'contents'], 'the drop-in is empty; give it contents, or remove it');
}

/** What is in it; undefined when it has no text, or none that can be read. */
function checkText(
  contents: string | undefined,
  path: ConfigPath,
  context: CheckContext,
): UnitText | undefined {
  if (!contents) return undefined;
  const text = readUnit(contents);
  if ('fault' in text) {
    context.error(path, text.fault);
    return undefined;
  }
  if (text.sections.length === 0) {
    context.warning(path, 'no [Section] is in it, so that systemd finds nothing; start it with [Unit]');
  }
  return text;
}

/** `a@b.service` can be enabled only when `a@.service` has an [Install] section. */
function checkTemplates(units: readonly Unit[], context: CheckContext): void {
  const contentsOf = new Map(units.map(({ name, contents }) => [name, contents]));
  units.forEach(({ name, enabled }, index) => {
    const template = /^(.+?@).+\.service$/s.exec(name)?.[1];
    const contents = template === undefined ? undefined : contentsOf.get(`${template}.service`);
    if (enabled !== true || !contents) return;
    const text = readUnit(contents);
    if ('fault' in text || text.filled.has('Install')) return;
    context.warning(
      ['systemd', 'units', index],
      `it is enabled, but its template "${template}.service" has no [Install] section`,
    );
  });
}

/** What follows the last dot of the last part of a name. */
function ending(name: string): string {
  const last = name.slice(name.lastIndexOf('/') + 1);
  return last.includes('.') ? last.slice(last.lastIndexOf('.') + 1) : '';
}
