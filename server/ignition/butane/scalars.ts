import { show } from '../../document/shape.ts';
import type { Path, YamlDocument } from '../../document/yaml.ts';
import type { Report } from './report.ts';

/** Scalars are read as Go's YAML reads them into typed fields; that is what authors of Butane know. */

/** Anything scalar is text, as it was written: `1.30` stays that. */
export function readText(
  value: unknown,
  path: Path,
  document: YamlDocument,
  report: Report,
): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return document.textOf(path) ?? String(value);
  report.error(path, `expected text, got ${show(value)}`);
  return undefined;
}

/** A leading zero means octal, as in `mode: 0644`. */
export function readInteger(
  value: unknown,
  path: Path,
  document: YamlDocument,
  report: Report,
): number | undefined {
  if (typeof value === 'number') {
    const octal = /^([-+]?)0([0-7]+)$/.exec(document.textOf(path)?.replaceAll('_', '') ?? '');
    const number = octal === null ? value : Number.parseInt(`${octal[1]}${octal[2]}`, 8);
    if (Number.isSafeInteger(number)) return number;
  }
  const hint = typeof value === 'string' && /^\d+$/.test(value) ? '; leave out the quotes' : '';
  report.error(path, `expected a whole number, got ${show(value)}${hint}`);
  return undefined;
}

const TRUE = new Set(['y', 'Y', 'yes', 'Yes', 'YES', 'on', 'On', 'ON']);
const FALSE = new Set(['n', 'N', 'no', 'No', 'NO', 'off', 'Off', 'OFF']);

export function readBoolean(value: unknown, path: Path, report: Report): boolean | undefined {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'string' && TRUE.has(value)) return true;
  if (typeof value === 'string' && FALSE.has(value)) return false;
  report.error(path, `expected true or false, got ${show(value)}`);
  return undefined;
}
