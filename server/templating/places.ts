import type { Place } from '../document/problem.ts';

/** The place `count` characters after `place`, of a text that starts there. */
export function advance(place: Place, text: string, count: number): Place {
  const before = text.slice(0, count);
  const lastBreak = before.lastIndexOf('\n');
  if (lastBreak < 0) return { ...place, col: place.col + count };
  return { ...place, line: place.line + before.split('\n').length - 1, col: count - lastBreak };
}
