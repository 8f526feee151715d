import { HelperError } from './helpers.ts';

/** Deeper than any configuration, and found before a mapping that contains itself goes on for ever. */
const MAX_VALUE_DEPTH = 128;

/** About how many characters a value adds to a document. */
export function measure(value: unknown, depth = 0): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 8;
  if (depth > MAX_VALUE_DEPTH) throw new HelperError(`is nested more than ${MAX_VALUE_DEPTH} levels deep`);
  let size = 2;
  if (Array.isArray(value)) {
    for (const item of value) size += 2 + measure(item, depth + 1);
    return size;
  }
  for (const key of Object.keys(value)) {
    size += key.length + 3 + measure((value as Record<string, unknown>)[key], depth + 1);
  }
  return size;
}
