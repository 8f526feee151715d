import { isRecord } from '../document/shape.ts';
import { parseYaml, type YamlDocument } from '../document/yaml.ts';
import { lineStarts } from '../document/yaml-places.ts';
import { type Fill, fillOf, joined } from './fill.ts';
import { type Hole, holesOf } from './holes.ts';
import { newMark, type Parts, partsOf, unmask, withPlaceholders } from './placeholder.ts';

/** Why the text of a template is no YAML, with the offset of the fault in `text`. */
export interface SkeletonFault {
  message: string;
  offset: number;
}

/** YAML with placeholders where values go, parsed. */
export class Skeleton {
  readonly document: YamlDocument;
  readonly text: string;
  readonly #mark: string;
  readonly #fill: Fill;
  #lineStarts: number[] | undefined;
  #holes: readonly Hole[] | undefined;

  private constructor(document: YamlDocument, text: string, mark: string) {
    this.document = document;
    this.text = text;
    this.#mark = mark;
    this.#fill = fillOf(document.value, { mark, text, known: new Map() });
  }

  static parse(file: string, written: string, maxNodes: number): Skeleton | SkeletonFault {
    const mark = newMark();
    const text = withPlaceholders(written, mark);
    const result = parseYaml(file, text, { maxNodes });
    if ('document' in result) return new Skeleton(result.document, text, mark);
    const { line, col, message } = result.problem;
    return { message: unmask(message, mark), offset: (lineStarts(text)[line - 1] ?? 0) + col - 1 };
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

  /** Where a line and a column of `text` are in it. */
  offsetOf({ line, col }: { line: number; col: number }): number {
    this.#lineStarts ??= lineStarts(this.text);
    return (this.#lineStarts[line - 1] ?? 0) + col - 1;
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
