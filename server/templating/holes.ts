import type { Path } from '../document/yaml.ts';
import { isInQuotes, type Parts, partsOf } from './placeholder.ts';

/** A scalar or a key of a document that has values in it. */
export interface Hole {
  /** With the keys as they stand in the skeleton. */
  path: Path;
  /** Which values: their indexes. */
  values: readonly number[];
  /** Whether it is text whatever the values are. A value that is all of a scalar keeps its own type. */
  isText: boolean;
}

/** All of them, what is behind an alias once for each place where it stands. */
export function holesOf(node: unknown, skeleton: { text: string; mark: string }, path: Path = []): Hole[] {
  const { text, mark } = skeleton;
  if (typeof node === 'string') {
    const parts = partsOf(node, mark);
    if (parts === undefined) return [];
    const values = indexesIn(parts);
    return [{ path, values, isText: !isOneValue(parts) || isInQuotes(text, mark, values[0]!) }];
  }
  if (typeof node !== 'object' || node === null) return [];
  if (Array.isArray(node)) return node.flatMap((item, index) => holesOf(item, skeleton, [...path, index]));
  return Object.entries(node).flatMap(([key, value]) => {
    const at = [...path, key];
    const inKey = partsOf(key, mark);
    const inValue = holesOf(value, skeleton, at);
    return inKey === undefined
      ? inValue
      : [{ path: at, values: indexesIn(inKey), isText: false }, ...inValue];
  });
}

/** Whether a text is one value and nothing besides. */
export function isOneValue(parts: Parts): boolean {
  return parts.length === 3 && parts[0] === '' && parts[2] === '';
}

function indexesIn(parts: Parts): number[] {
  return parts.filter((part) => typeof part === 'number');
}
