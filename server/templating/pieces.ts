import type { Place } from '../document/problem.ts';
import { advance } from './places.ts';

/** A stretch of rendered text and the place in a template that it came from. */
export interface Piece {
  /** `undefined` stands for a value. */
  text: string | undefined;
  place: Place;
  /** For a value: how its author wrote it. */
  shown?: string;
}

/**
 * The place in a template for an offset in the text that was rendered from it. Blocks and partials take lines away and
 * add some, so the pieces themselves are the map; it is walked only when there is something to complain about.
 */
export function placeInTemplate(
  pieces: readonly Piece[],
  offset: number,
  valueLength: number,
): Place | undefined {
  let start = 0;
  let last: { piece: Piece; length: number } | undefined;
  for (const piece of pieces) {
    const length = piece.text?.length ?? valueLength;
    if (offset < start + length) {
      return piece.text === undefined ? piece.place : advance(piece.place, piece.text, offset - start);
    }
    start += length;
    last = { piece, length };
  }
  // At the very end, where nothing is any more.
  if (last === undefined) return undefined;
  return last.piece.text === undefined
    ? last.piece.place
    : advance(last.piece.place, last.piece.text, last.length);
}
