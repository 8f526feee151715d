import type { TemplateLimits } from './limits.ts';
import type { TextNode, ValueNode } from './nodes.ts';
import { OutputSize, PiecesOutput } from './output.ts';
import { HOLE } from './placeholder.ts';
import type { Output } from './run.ts';

/** What a template writes, with a hole for each value. */
export class YamlOutput extends PiecesOutput {
  override value({ place, shown }: ValueNode): void {
    this.addIndentIfDue(place);
    this.add({ text: undefined, place, shown }, HOLE);
  }
}

/** The rest: the values, and the way that the template went, which decides about all that it writes besides them. */
export class ValuesOutput implements Output {
  readonly values: unknown[] = [];
  readonly #ways: number[] = [];
  readonly #size: OutputSize;

  constructor({ maxOutput }: TemplateLimits) {
    this.#size = new OutputSize(maxOutput);
  }

  get way(): string {
    return this.#ways.join(' ');
  }

  text({ text, place }: TextNode): void {
    this.#size.grow(text.length, place);
  }

  value({ place }: ValueNode, value: unknown): void {
    this.values.push(value);
    if (typeof value === 'string') this.#size.grow(value.length, place);
  }

  indent(): void {}

  outdent(): void {}

  decided(way: number): void {
    this.#ways.push(way);
  }
}
