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

/** Text, and what comes between: a field of the contents of a gap. */
interface Cut {
  first: Buffer;
  rest: readonly { gap: number; field: keyof DataUrl; text: Buffer }[];
}

/** The text of a configuration, cut where contents go that are not in it yet. */
export class Sheet {
  readonly #cut: Cut;
  #before: readonly DataUrl[] | undefined;
  #common: { contents: readonly (DataUrl | undefined)[]; cut: Cut } | undefined;

  constructor(config: IgnitionConfig, gaps: readonly Gap[], indent: number) {
    const mark = newMark();
    const text = jsonText(withMarks(config, gaps, mark), indent);
    const [first, ...rest] = text.split(new RegExp(`${mark}([sc])(\\d+)z`));
    this.#cut = {
      first: Buffer.from(first!),
      rest: Array.from({ length: rest.length / 3 }, (_, at) => ({
        field: rest[at * 3] === 's' ? 'source' : 'compression',
        gap: Number(rest[at * 3 + 1]),
        text: Buffer.from(rest[at * 3 + 2]!),
      })),
    };
  }

  /** All of it. What goes into the gaps is of ASCII that JSON has no escapes for. */
  with(contents: readonly DataUrl[]): ConfigBytes {
    const cut = this.#cutFor(contents);
    return { size: sizeOf(cut, contents), copyTo: (target) => copy(cut, contents, target) };
  }

  sizeWith(contents: readonly DataUrl[]): number {
    return sizeOf(this.#cut, contents);
  }

  /**
   * What the first two hosts have in common, such as a certificate, most others have, too: it becomes part of the text,
   * of which there is less to put together then.
   */
  #cutFor(contents: readonly DataUrl[]): Cut {
    if (this.#common === undefined) {
      const before = this.#before;
      this.#before = contents;
      if (before === undefined || isSame(before, contents)) return this.#cut;
      const common = contents.map((url, gap) => (before[gap] === url ? url : undefined));
      this.#common = { contents: common, cut: fillIn(this.#cut, common) };
    }
    return isSame(this.#common.contents, contents) ? this.#common.cut : this.#cut;
  }
}

/** Whether the contents are these, as far as there are any. */
function isSame(these: readonly (DataUrl | undefined)[], contents: readonly DataUrl[]): boolean {
  for (let gap = 0; gap < these.length; gap++) {
    if (these[gap] !== undefined && these[gap] !== contents[gap]) return false;
  }
  return true;
}

/** With some of the contents in it. */
function fillIn({ first, rest }: Cut, contents: readonly (DataUrl | undefined)[]): Cut {
  const cuts: { gap: number; field: keyof DataUrl; text: Buffer }[] = [];
  let start = first;
  for (const { gap, field, text } of rest) {
    const url = contents[gap];
    if (url === undefined) cuts.push({ gap, field, text });
    else {
      const last = cuts.at(-1);
      const whole = Buffer.concat([last?.text ?? start, Buffer.from(url[field]!), text]);
      if (last === undefined) start = whole;
      else last.text = whole;
    }
  }
  return { first: start, rest: cuts };
}

function sizeOf({ first, rest }: Cut, contents: readonly DataUrl[]): number {
  let size = first.length;
  for (const { gap, field, text } of rest) size += contents[gap]![field]!.length + text.length;
  return size;
}

function copy({ first, rest }: Cut, contents: readonly DataUrl[], target: Buffer): void {
  target.set(first);
  let at = first.length;
  for (const { gap, field, text } of rest) {
    const value = contents[gap]![field]!;
    if (value !== '') at += target.write(value, at, 'latin1');
    target.set(text, at);
    at += text.length;
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
