import type { Place } from '../document/problem.ts';
import { isRecord } from '../document/shape.ts';
import { parseYaml, type YamlDocument } from '../document/yaml.ts';
import { lineStarts } from '../document/yaml-places.ts';
import { TemplateFault } from './fault.ts';
import { type Fill, fillOf, joined } from './fill.ts';
import { type Hole, holesOf } from './holes.ts';
import { type Piece, placeInTemplate } from './pieces.ts';
import { newMark, type Parts, PLACEHOLDER_LENGTH, partsOf, unmask, withPlaceholders } from './placeholder.ts';

/** What a template wrote, with holes in place of values, and where each piece of that is from. */
export interface Written {
  written: string;
  pieces: readonly Piece[];
}

interface Parsed {
  document: YamlDocument;
  text: string;
  mark: string;
  pieces: readonly Piece[];
}

/** YAML with placeholders where values go, parsed. */
export class Skeleton {
  readonly document: YamlDocument;
  readonly text: string;
  readonly #mark: string;
  readonly #pieces: readonly Piece[];
  readonly #fill: Fill;
  #lineStarts: number[] | undefined;
  #holes: readonly Hole[] | undefined;

  private constructor({ document, text, mark, pieces }: Parsed) {
    this.document = document;
    this.text = text;
    this.#mark = mark;
    this.#pieces = pieces;
    this.#fill = fillOf(document.value, { mark, text, known: new Map() });
  }

  /** Throws `TemplateFault`. */
  static parse(file: string, { written, pieces }: Written, maxNodes: number): Skeleton {
    const mark = newMark();
    const text = withPlaceholders(written, mark);
    const result = parseYaml(file, text, { maxNodes });
    if ('document' in result) return new Skeleton({ document: result.document, text, mark, pieces });
    const { line, col, message } = result.problem;
    const place = placeInTemplate(pieces, offsetIn(lineStarts(text), line, col), PLACEHOLDER_LENGTH);
    throw new TemplateFault(place ?? { file, line: 0, col: 0 }, unmask(message, mark));
  }

  /** The document's value, with `values` in their places. Throws `FillError`. */
  fill(values: readonly unknown[], maxSize: number): unknown {
    const state = { values, left: maxSize };
    return this.#fill(state);
  }

  /** Every place that has values in it. */
  get holes(): readonly Hole[] {
    this.#holes ??= holesOf(this.document.value, { text: this.text, mark: this.#mark });
    return this.#holes;
  }

  /** The place in the template, or in one of its partials, of a place in `document`. */
  placeInTemplate({ file, line, col }: Place): Place {
    this.#lineStarts ??= lineStarts(this.text);
    const offset = offsetIn(this.#lineStarts, line, col);
    return placeInTemplate(this.#pieces, offset, PLACEHOLDER_LENGTH) ?? { file, line: 0, col: 0 };
  }

  /** Where the value with this index is written, and how; the whole template when no value is to blame. */
  pieceOf(index: number): { place: Place; shown: string } {
    const piece = index < 0 ? undefined : this.#pieces.filter(({ text }) => text === undefined)[index];
    const { file } = this.document;
    return { place: piece?.place ?? { file, line: 0, col: 0 }, shown: piece?.shown ?? 'this template' };
  }

  /** `path` with the keys as they stand in `document`, where some are placeholders still. */
  rawPath(path: readonly (string | number)[], values: readonly unknown[]): (string | number)[] {
    const raw: (string | number)[] = [];
    let node = this.document.value;
    for (const step of path) {
      const key = isRecord(node) ? this.#rawKey(node, String(step), values) : step;
      if (key === undefined) break;
      raw.push(key);
      node = (node as Record<string | number, unknown> | undefined)?.[key];
    }
    return raw;
  }

  /** Text and indexes of values that a scalar is made of; `undefined` where no value is in it. `path` is a raw one. */
  partsAt(path: readonly (string | number)[]): Parts | undefined {
    let node = this.document.value;
    for (const step of path) node = (node as Record<string | number, unknown> | undefined)?.[step];
    return typeof node === 'string' ? partsOf(node, this.#mark) : undefined;
  }

  /** Whether text from `document` has a placeholder in it. */
  isMarked(text: string): boolean {
    return text.includes(this.#mark);
  }

  #rawKey(node: Record<string, unknown>, key: string, values: readonly unknown[]): string | undefined {
    if (Object.hasOwn(node, key)) return key;
    return Object.keys(node).find((raw) => {
      const parts = partsOf(raw, this.#mark);
      return parts !== undefined && String(joined(parts, values)) === key;
    });
  }
}

function offsetIn(starts: readonly number[], line: number, col: number): number {
  return (starts[line - 1] ?? 0) + col - 1;
}
