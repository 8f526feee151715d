import { isRecord } from '../document/shape.ts';

/** Why a helper can't do what it was asked; the caller knows the place. */
export class HelperError extends Error {}

export interface Helper {
  /** How many arguments it takes. */
  min: number;
  max: number;
  run(args: readonly unknown[]): unknown;
}

/** All of them: pure, small, and about values; text is the template's own business. */
export const HELPERS: ReadonlyMap<string, Helper> = new Map<string, Helper>([
  ['eq', { min: 2, max: 2, run: ([a, b]) => a === b }],
  ['ne', { min: 2, max: 2, run: ([a, b]) => a !== b }],
  ['not', { min: 1, max: 1, run: ([a]) => !isTrue(a) }],
  ['and', { min: 2, max: 16, run: (args) => args.every(isTrue) }],
  ['or', { min: 2, max: 16, run: (args) => args.some(isTrue) }],
  // Its first argument may be a name that isn't there: see `evaluate`.
  ['default', { min: 2, max: 2, run: ([value, fallback]) => value ?? fallback }],
  ['has', { min: 2, max: 2, run: ([container, key]) => has(container, key) }],
  ['lookup', { min: 2, max: 2, run: ([container, key]) => lookup(container, key) }],
  ['join', { min: 1, max: 2, run: ([list, separator = ',']) => join(list, separator) }],
  ['concat', { min: 1, max: 16, run: (args) => args.map(asText).join('') }],
  ['json', { min: 1, max: 1, run: ([value]) => JSON.stringify(value ?? null) }],
]);

/** As Handlebars sees it: 0, "", an empty list and nothing are false. */
export function isTrue(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

/** A value as a part of some text. */
export function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  if (value === null || value === undefined) throw new HelperError('has no value here');
  if (Array.isArray(value))
    throw new HelperError('is a list, which can not be a part of text; use "join" or "json"');
  if (isRecord(value)) throw new HelperError('is a mapping, which can not be a part of text; use "json"');
  throw new HelperError('is neither text nor a number');
}

function has(container: unknown, key: unknown): boolean {
  if (Array.isArray(container)) return container.includes(key);
  if (isRecord(container) && typeof key === 'string') {
    return Object.hasOwn(container, key) && container[key] !== undefined && container[key] !== null;
  }
  if (container === null || container === undefined) return false;
  throw new HelperError('"has" takes a mapping and a name, or a list and a value');
}

function lookup(container: unknown, key: unknown): unknown {
  if (Array.isArray(container) && typeof key === 'number') {
    if (Number.isInteger(key) && key >= 0 && key < container.length) return container[key];
    throw new HelperError(`the list has no item ${key}: it has ${container.length}`);
  }
  if (isRecord(container) && (typeof key === 'string' || typeof key === 'number')) {
    if (Object.hasOwn(container, key)) return container[key];
    throw new HelperError(`the mapping has no key ${JSON.stringify(key)}`);
  }
  throw new HelperError('"lookup" takes a mapping and a key, or a list and an index');
}

function join(list: unknown, separator: unknown): string {
  if (typeof separator !== 'string')
    throw new HelperError('"join" takes a list and the text between its items');
  if (!Array.isArray(list)) throw new HelperError('"join" takes a list');
  return list
    .map((item, index) => {
      try {
        return asText(item);
      } catch (error) {
        throw new HelperError(`item ${index} of the list ${(error as Error).message}`);
      }
    })
    .join(separator);
}
