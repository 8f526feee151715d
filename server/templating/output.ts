import type { Place } from '../document/problem.ts';
import { TemplateFault } from './fault.ts';
import { HelperError } from './helpers.ts';
import type { TemplateLimits } from './limits.ts';
import type { TextNode, ValueNode } from './nodes.ts';
import type { Piece } from './pieces.ts';
import { advance } from './places.ts';
import type { Output } from './run.ts';

/** Collects what a template writes; what becomes of a value is up to the kind of output. */
export abstract class PiecesOutput implements Output {
  readonly pieces: Piece[] = [];
  readonly #size: OutputSize;
  #written = '';
  #indent = '';

  constructor({ maxOutput }: TemplateLimits) {
    this.#size = new OutputSize(maxOutput);
  }

  /** All that was written. */
  get written(): string {
    return this.#written;
  }

  abstract value(node: ValueNode, value: unknown): void;

  text(node: TextNode): void {
    if (this.#indent === '') this.add(node);
    else this.#addIndented(node);
  }

  indent(by: string): void {
    this.#indent += by;
  }

  outdent(by: string, closeLine: Place | undefined): void {
    if (closeLine !== undefined && this.#written !== '' && !this.#written.endsWith('\n')) {
      this.add({ text: '\n', place: closeLine });
    }
    this.#indent = this.#indent.slice(0, this.#indent.length - by.length);
  }

  /** What is written tells. */
  decided(): void {}

  /** `written` is what stands for the piece in the text; for text, it is the text. */
  protected add(piece: Piece, written: string = piece.text!): void {
    this.pieces.push(piece);
    this.#written += written;
    this.grow(written.length, piece.place);
  }

  /** A value may be the first thing on a line of a partial. */
  protected addIndentIfDue(place: Place): void {
    if (this.#indent !== '' && this.#isAtLineStart()) this.add({ text: this.#indent, place });
  }

  protected grow(by: number, place: Place): void {
    this.#size.grow(by, place);
  }

  /** Runs `work`, which may find a value unfit, and says so with its name and place. */
  protected checking<T>(node: ValueNode, work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof HelperError)) throw error;
      throw new TemplateFault(node.place, `${node.shown} ${error.message}`);
    }
  }

  #addIndented({ text, place }: TextNode): void {
    let start = 0;
    while (start < text.length) {
      const end = text.indexOf('\n', start) + 1 || text.length;
      const line = text.slice(start, end);
      const at = start === 0 ? place : advance(place, text, start);
      if (line.trim() !== '') this.addIndentIfDue(at);
      this.add({ text: line, place: at });
      start = end;
    }
  }

  #isAtLineStart(): boolean {
    return this.#written === '' || this.#written.endsWith('\n');
  }
}

/** Keeps count of what a template writes. */
export class OutputSize {
  readonly #max: number;
  #size = 0;

  constructor(max: number) {
    this.#max = max;
  }

  grow(by: number, place: Place): void {
    this.#size += by;
    if (this.#size > this.#max)
      throw new TemplateFault(place, `what this renders to is larger than ${inWords(this.#max)}`);
  }
}

function inWords(bytes: number): string {
  return bytes >= 1024 * 1024 ? `${Math.round(bytes / 1024 / 1024)} MiB` : `${bytes} characters`;
}
