import { asText, HelperError } from './helpers.ts';
import { isOneValue } from './holes.ts';
import { measure } from './measure.ts';
import { isInQuotes, type Parts, partsOf } from './placeholder.ts';

/** A value that doesn't fit where it should go: `index` tells which one. */
export class FillError extends Error {
  readonly index: number;

  constructor(index: number, message: string) {
    super(message);
    this.index = index;
  }
}

export interface FillState {
  values: readonly unknown[];
  /** How many more characters the document may have. */
  left: number;
}

export type Fill = (state: FillState) => unknown;

interface Building {
  mark: string;
  text: string;
  /** Values behind an alias are built once. */
  known: Map<object, Fill>;
}

/**
 * How to make a value of the document. What has no placeholder in it is the same in every rendering: it is frozen and
 * shared, so filling costs as much as there is to fill.
 */
export function fillOf(node: unknown, building: Building): Fill {
  if (typeof node === 'string') return fillOfText(node, building);
  if (typeof node !== 'object' || node === null) return () => node;
  const known = building.known.get(node);
  if (known !== undefined) return known;
  const fill = hasMark(node, building.mark)
    ? Array.isArray(node)
      ? fillOfList(node, building)
      : fillOfMapping(node as Record<string, unknown>, building)
    : constant(deepFreeze(node), measure(node));
  building.known.set(node, fill);
  return fill;
}

function constant(value: unknown, size: number): Fill {
  return (state) => {
    spend(state, size, -1);
    return value;
  };
}

function fillOfList(node: readonly unknown[], building: Building): Fill {
  const items = node.map((item) => fillOf(item, building));
  return (state) => items.map((fill) => fill(state));
}

function fillOfMapping(node: Record<string, unknown>, building: Building): Fill {
  const entries = Object.entries(node).map(([key, value]) => ({
    key,
    parts: partsOf(key, building.mark),
    fill: fillOf(value, building),
  }));
  return (state) => {
    const filled: Record<string, unknown> = {};
    for (const { key, parts, fill } of entries) {
      const name = parts === undefined ? key : joined(parts, state.values);
      if (parts !== undefined) spend(state, name.length, indexIn(parts));
      if (Object.hasOwn(filled, name)) {
        const index = parts === undefined ? -1 : indexIn(parts);
        throw new FillError(index, 'makes a key that is in the same mapping already');
      }
      const value = fill(state);
      // Not by assignment: that would set the prototype.
      if (name === '__proto__')
        Object.defineProperty(filled, name, { value, enumerable: true, writable: true, configurable: true });
      else filled[name] = value;
    }
    return filled;
  };
}

function fillOfText(node: string, building: Building): Fill {
  const parts = partsOf(node, building.mark);
  if (parts === undefined) return constant(node, node.length);
  const index = indexIn(parts);
  if (isOneValue(parts) && !isInQuotes(building.text, building.mark, index)) {
    return (state) => {
      const value = state.values[index] ?? null;
      spend(state, measured(value, index), index);
      return value;
    };
  }
  return (state) => {
    const text = joined(parts, state.values);
    spend(state, text.length, index);
    return text;
  };
}

export function joined(parts: Parts, values: readonly unknown[]): string {
  let text = '';
  for (const part of parts) text += typeof part === 'string' ? part : textFor(part, values);
  return text;
}

function textFor(index: number, values: readonly unknown[]): string {
  try {
    return asText(values[index]);
  } catch (error) {
    if (error instanceof HelperError) throw new FillError(index, error.message);
    throw error;
  }
}

function measured(value: unknown, index: number): number {
  try {
    return measure(value);
  } catch (error) {
    if (error instanceof HelperError) throw new FillError(index, error.message);
    throw error;
  }
}

function spend(state: FillState, size: number, index: number): void {
  state.left -= size;
  if (state.left < 0) throw new FillError(index, 'makes the document too large');
}

function indexIn(parts: Parts): number {
  return parts[1] as number;
}

function hasMark(node: unknown, mark: string, seen = new Set<object>()): boolean {
  if (typeof node === 'string') return node.includes(mark);
  if (typeof node !== 'object' || node === null || seen.has(node)) return false;
  seen.add(node);
  if (Array.isArray(node)) return node.some((item) => hasMark(item, mark, seen));
  return Object.entries(node).some(([key, value]) => key.includes(mark) || hasMark(value, mark, seen));
}

function deepFreeze<T extends object>(node: T): T {
  if (Object.isFrozen(node)) return node;
  Object.freeze(node);
  for (const value of Object.values(node)) if (typeof value === 'object' && value !== null) deepFreeze(value);
  return node;
}
