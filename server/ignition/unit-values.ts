import type { Problem } from '../document/problem.ts';
import { isRecord } from '../document/shape.ts';
import type { Path } from '../document/yaml.ts';
import type { RenderedDocument } from '../templating/rendered-document.ts';

/**
 * Values inside the text of a unit that bring a line of their own: systemd would take it for a line of the unit. A unit
 * that is one value as a whole is its author's business.
 */
export function unitValueFaults(document: RenderedDocument): Problem[] {
  const { value } = document;
  const systemd = isRecord(value) && isRecord(value.systemd) ? value.systemd : {};
  const units = Array.isArray(systemd.units) ? systemd.units : [];
  const paths = units.flatMap((unit: unknown, index): Path[] => {
    const path = ['systemd', 'units', index];
    const dropins = isRecord(unit) && Array.isArray(unit.dropins) ? unit.dropins : [];
    return [
      [...path, 'contents'],
      ...dropins.map((_dropin, at): Path => [...path, 'dropins', at, 'contents']),
    ];
  });
  return paths
    .filter((path) => document.valuesWithin(path).some(hasControlCharacter))
    .map((path) => ({
      severity: 'error',
      ...document.placeOf(path),
      subject: '',
      message:
        'a value in this unit has a line break or another control character, which would be a line of the unit',
    }));
}

function hasControlCharacter(value: unknown): boolean {
  return typeof value === 'string' && /[\p{Cc}\u2028\u2029]/u.test(value);
}
