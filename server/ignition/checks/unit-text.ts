import { quote } from '../../document/problem.ts';

/** What was found in a unit or drop-in that can be read. */
export interface UnitText {
  /** Names of sections, in order. */
  sections: string[];
  /** Sections with at least one setting. */
  filled: Set<string>;
}

const BUFFER_SIZE = 4096;
/** Ignition refuses lines that systemd once cut off there. */
const LINE_MAX = 2048;
const LF = 0x0a;
const CR = 0x0d;
/** White space to Go, which has U+0085 and lacks U+FEFF. */
const SPACE = /^[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]$/;

/** Reads the text of a unit the way Ignition does, which is not quite the way systemd does. */
export function readUnit(text: string): UnitText | { fault: string } {
  const lines = new BufferedLines(Buffer.from(text));
  const unit: UnitText = { sections: [], filled: new Set() };
  let section: string | undefined;
  for (;;) {
    if (lines.isLineTooLong()) return { fault: tooLong(lines.line) };
    const line = lines.line;
    const character = lines.readCharacter();
    if (character === undefined) return unit;
    const isSetting = section !== undefined && !'[#;'.includes(character) && !SPACE.test(character);
    if (isSetting) lines.unread();
    else if (character !== '[' && character !== '#' && character !== ';') continue;
    if (lines.isLineTooLong()) return { fault: tooLong(line) };
    if (isSetting) {
      const fault = readSetting(lines, line);
      if (fault !== undefined) return { fault };
      unit.filled.add(section!);
    } else if (character === '[') {
      const name = lines.readTo(']'.charCodeAt(0));
      if (name === undefined) return { fault: `the section that starts in line ${line} has no "]"` };
      if (lines.isLineTooLong()) return { fault: tooLong(line) };
      const rest = trim(lines.readLine());
      if (rest !== '') {
        return { fault: `line ${line} has ${quote(rest)} after the name of the section; remove it` };
      }
      section = name;
      unit.sections.push(section);
    } else {
      // A comment goes on in the next line, too, after a backslash.
      while (withoutOneSpace(lines.readLine()).endsWith('\\'));
    }
  }
}

/** The name and value of a setting; undefined when all is well with it. */
function readSetting(lines: BufferedLines, line: number): string | undefined {
  for (;;) {
    const character = lines.readCharacter();
    if (character === undefined || character === '\n' || character === '\r') {
      return `line ${line} is neither a section nor a setting; write Name=value`;
    }
    if (character === '=') break;
  }
  for (;;) {
    if (lines.isLineTooLong()) return tooLong(lines.line);
    const value = lines.readLine();
    if (trim(value) === '' || !value.endsWith('\\')) return undefined;
  }
}

function tooLong(line: number): string {
  return `line ${line} is longer than ${LINE_MAX} bytes; break it with "\\" at the end of a line`;
}

function trim(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && SPACE.test(text[start]!)) start++;
  while (end > start && SPACE.test(text[end - 1]!)) end--;
  return text.slice(start, end);
}

function withoutOneSpace(text: string): string {
  return text.endsWith(' ') ? text.slice(0, -1) : text;
}

/**
 * Bytes behind a buffer of a certain size: Ignition finds a line too long only when its buffer happens to hold
 * enough of it, so the buffer is part of the rule.
 */
class BufferedLines {
  readonly #bytes: Buffer;
  #at = 0;
  #filledTo = 0;
  #lastWidth = 0;
  #line = 1;
  #countedTo = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** The number of the line that is read next. */
  get line(): number {
    for (; this.#countedTo < this.#at; this.#countedTo++) {
      if (this.#bytes[this.#countedTo] === LF) this.#line++;
    }
    return this.#line;
  }

  isLineTooLong(): boolean {
    if (this.#filledTo - this.#at < LINE_MAX) return false;
    const next = this.#bytes.subarray(this.#at, this.#at + LINE_MAX);
    return !next.includes(LF) && !next.includes(CR);
  }

  readCharacter(): string | undefined {
    const width = Math.min(widthOf(this.#bytes[this.#at] ?? 0), this.#bytes.length - this.#at);
    if (this.#filledTo - this.#at < Math.max(1, width)) this.#fill();
    if (this.#at >= this.#bytes.length) return undefined;
    this.#lastWidth = width;
    this.#at += width;
    return this.#bytes.toString('utf8', this.#at - width, this.#at);
  }

  unread(): void {
    this.#at -= this.#lastWidth;
  }

  /** Without what ends it. */
  readLine(): string {
    const bytes = this.#readThrough(LF);
    const end = bytes.at(-1) === LF || bytes.at(-1) === CR ? bytes.length - 1 : bytes.length;
    return bytes.toString('utf8', 0, end);
  }

  /** What comes before a byte; undefined when it doesn't come. */
  readTo(delimiter: number): string | undefined {
    const bytes = this.#readThrough(delimiter);
    return bytes.at(-1) === delimiter ? bytes.toString('utf8', 0, bytes.length - 1) : undefined;
  }

  #readThrough(delimiter: number): Buffer {
    const start = this.#at;
    for (;;) {
      const found = this.#bytes.subarray(this.#at, this.#filledTo).indexOf(delimiter);
      if (found >= 0) {
        this.#at += found + 1;
        break;
      }
      // What was searched stays in the buffer until that is full: only then the reading point moves.
      if (this.#filledTo - this.#at >= BUFFER_SIZE) this.#at = this.#filledTo;
      else if (this.#filledTo >= this.#bytes.length) {
        this.#at = this.#filledTo;
        break;
      } else this.#fill();
    }
    return this.#bytes.subarray(start, this.#at);
  }

  #fill(): void {
    this.#filledTo = Math.min(this.#bytes.length, this.#at + BUFFER_SIZE);
  }
}

/** Bytes of a character, from its first one. */
function widthOf(first: number): number {
  if (first < 0xc0) return 1;
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}
