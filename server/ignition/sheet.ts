import { newMark } from '../templating/placeholder.ts';
import type { DataUrl } from './butane/data-url.ts';
import type { File, IgnitionConfig, Resource } from './spec/schema.ts';

/** Where contents go in a configuration. */
export interface Gap {
  file: number;
  /** Which of the file's additions; `undefined` for what it starts with. */
  append: number | undefined;
}

/** Bytes that are put together where they are wanted: what hosts have in common is in memory once. */
export interface ConfigBytes {
  readonly size: number;
  copyTo(target: Buffer): void;
}

export function toBuffer(config: ConfigBytes): Buffer {
  const whole = Buffer.allocUnsafe(config.size);
  config.copyTo(whole);
  return whole;
}

export function fixedBytes(text: string): ConfigBytes {
  const bytes = Buffer.from(text);
  return { size: bytes.length, copyTo: (target) => target.set(bytes) };
}

/** In one line for 0; otherwise for people, with lines that are indented by so much. */
export function jsonText(config: IgnitionConfig, indent: number): string {
  return indent === 0 ? JSON.stringify(config) : `${JSON.stringify(config, null, indent)}\n`;
}

/** The text of a configuration, cut where contents go that are not in it yet. */
export class Sheet {
  readonly #first: Buffer;
  readonly #rest: readonly { gap: number; field: 'source' | 'compression'; text: Buffer }[];
  /** Of the text, without what goes between. */
  readonly #size: number;

  constructor(config: IgnitionConfig, gaps: readonly Gap[], indent: number) {
    const mark = newMark();
    const text = jsonText(withMarks(config, gaps, mark), indent);
    const [first, ...rest] = text.split(new RegExp(`${mark}([sc])(\\d+)z`));
    this.#first = Buffer.from(first!);
    this.#rest = Array.from({ length: rest.length / 3 }, (_, at) => ({
      field: rest[at * 3] === 's' ? 'source' : 'compression',
      gap: Number(rest[at * 3 + 1]),
      text: Buffer.from(rest[at * 3 + 2]!),
    }));
    this.#size = this.#rest.reduce((size, { text }) => size + text.length, this.#first.length);
  }

  /** All of it. What goes into the gaps is of ASCII that JSON has no escapes for. */
  with(contents: readonly DataUrl[]): ConfigBytes {
    return { size: this.sizeWith(contents), copyTo: (target) => this.#copy(contents, target) };
  }

  sizeWith(contents: readonly DataUrl[]): number {
    let size = this.#size;
    for (const { gap, field } of this.#rest) size += contents[gap]![field]!.length;
    return size;
  }

  #copy(contents: readonly DataUrl[], target: Buffer): void {
    target.set(this.#first);
    let at = this.#first.length;
    for (const { gap, field, text } of this.#rest) {
      const value = contents[gap]![field]!;
      if (value !== '') at += target.write(value, at, 'latin1');
      target.set(text, at);
      at += text.length;
    }
  }
}

function withMarks(config: IgnitionConfig, gaps: readonly Gap[], mark: string): IgnitionConfig {
  if (gaps.length === 0) return config;
  const files = [...config.storage!.files!];
  gaps.forEach(({ file, append }, gap) => {
    const marks = { source: `${mark}s${gap}z`, compression: `${mark}c${gap}z` };
    files[file] = withContents(files[file]!, append, marks as Resource);
  });
  return { ...config, storage: { ...config.storage, files } };
}

function withContents(file: File, append: number | undefined, marks: Resource): File {
  if (append === undefined) return { ...file, contents: { ...file.contents, ...marks } };
  return { ...file, append: file.append!.map((old, at) => (at === append ? { ...old, ...marks } : old)) };
}
