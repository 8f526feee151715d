/**
 * JSON as it was written: with places, with keys that come twice, and with numbers in their own notation, all of which
 * `JSON.parse` drops and Ignition heeds.
 */
export type JsonNode =
  | { kind: 'object'; start: number; members: JsonMember[] }
  | { kind: 'array'; start: number; items: JsonNode[] }
  | { kind: 'string'; start: number; value: string }
  | { kind: 'number'; start: number; written: string }
  | { kind: 'boolean'; start: number; value: boolean }
  | { kind: 'null'; start: number };

export interface JsonMember {
  key: string;
  keyStart: number;
  value: JsonNode;
}

export interface JsonFault {
  offset: number;
  message: string;
}

/** Ignition's parser gives up there, too. */
const MAX_DEPTH = 10_000;

const WORDS = ['true', 'false', 'null'] as const;

type Open = Extract<JsonNode, { kind: 'object' | 'array' }>;

export function parseJson(text: string): { root: JsonNode } | { fault: JsonFault } {
  try {
    return { root: new JsonReader(text).read() };
  } catch (error) {
    if (error instanceof SyntaxFault) return { fault: { offset: error.offset, message: error.message } };
    throw error;
  }
}

class SyntaxFault extends Error {
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

/** Keeps a stack of its own: what is nested deeply must not end the process. */
class JsonReader {
  readonly #numberHere = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
  readonly #escapeHere = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
  readonly #text: string;
  readonly #open: Open[] = [];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): JsonNode {
    let root: JsonNode | undefined;
    let key: { key: string; keyStart: number } | undefined;
    for (;;) {
      const node = this.#startValue();
      root ??= node;
      this.#attach(node, key);
      key = undefined;
      if (isOpen(node)) {
        if (this.#open.length >= MAX_DEPTH) this.#fail('this is nested too deeply', node.start);
        this.#open.push(node);
        if (!this.#takes(closing(node))) {
          if (node.kind === 'object') key = this.#key();
          continue;
        }
        this.#open.pop();
      }
      const container = this.#closeAndFindNext();
      if (container === undefined) return root;
      if (container.kind === 'object') key = this.#key();
    }
  }

  /** After a value: the container in which the next one is, or undefined at the end of the text. */
  #closeAndFindNext(): Open | undefined {
    for (;;) {
      const container = this.#open.at(-1);
      if (container === undefined) {
        this.#skipSpace();
        if (this.#at < this.#text.length) this.#fail('the config ended before this; remove the rest');
        return undefined;
      }
      if (this.#takes(',')) return container;
      if (!this.#takes(closing(container))) {
        this.#fail(`expected "," or "${closing(container)}" after a value, got ${this.#got()}`);
      }
      this.#open.pop();
    }
  }

  #attach(node: JsonNode, key: { key: string; keyStart: number } | undefined): void {
    const container = this.#open.at(-1);
    if (container?.kind === 'array') container.items.push(node);
    else if (container !== undefined && key !== undefined) container.members.push({ ...key, value: node });
  }

  #key(): { key: string; keyStart: number } {
    this.#skipSpace();
    const keyStart = this.#at;
    if (this.#text[this.#at] !== '"') this.#fail(`expected a key in double quotes, got ${this.#got()}`);
    const key = this.#string();
    if (!this.#takes(':')) this.#fail(`expected ":" after the key "${key}", got ${this.#got()}`);
    return { key, keyStart };
  }

  #startValue(): JsonNode {
    this.#skipSpace();
    const start = this.#at;
    switch (this.#text[start]) {
      case '{':
        this.#at++;
        return { kind: 'object', start, members: [] };
      case '[':
        this.#at++;
        return { kind: 'array', start, items: [] };
      case '"':
        return { kind: 'string', start, value: this.#string() };
      default:
        return this.#word(start) ?? this.#number(start);
    }
  }

  #word(start: number): JsonNode | undefined {
    const word = WORDS.find((candidate) => this.#text.startsWith(candidate, start));
    if (word === undefined) return undefined;
    this.#at += word.length;
    return word === 'null' ? { kind: 'null', start } : { kind: 'boolean', start, value: word === 'true' };
  }

  #number(start: number): JsonNode {
    const written = this.#match(this.#numberHere);
    if (written === undefined) this.#fail(`expected a value, got ${this.#got()}`);
    this.#at += written.length;
    return { kind: 'number', start, written };
  }

  #string(): string {
    const start = this.#at;
    this.#at++;
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (Number.isNaN(code)) this.#fail('this text has no closing double quote', start);
      if (code < 0x20) this.#fail('a control character in text must be escaped: a line break is \\n');
      if (code === 0x22) break;
      if (code === 0x5c) this.#escape();
      else this.#at++;
    }
    this.#at++;
    return JSON.parse(this.#text.slice(start, this.#at)) as string;
  }

  #escape(): void {
    const written = this.#match(this.#escapeHere);
    if (written === undefined) this.#fail('JSON has no such escape; a backslash itself is written \\\\');
    this.#at += written.length;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#text)?.[0];
  }

  #takes(character: string): boolean {
    this.#skipSpace();
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #skipSpace(): void {
    while (' \t\r\n'.includes(this.#text[this.#at] ?? 'x')) this.#at++;
  }

  #got(): string {
    const point = this.#text.codePointAt(this.#at);
    return point === undefined ? 'the end of the text' : JSON.stringify(String.fromCodePoint(point));
  }

  #fail(message: string, offset = this.#at): never {
    throw new SyntaxFault(offset, message);
  }
}

function isOpen(node: JsonNode): node is Open {
  return node.kind === 'object' || node.kind === 'array';
}

function closing({ kind }: Open): '}' | ']' {
  return kind === 'object' ? '}' : ']';
}

/** Lines and columns count from 1. */
export function placeOfOffset(text: string, offset: number): { line: number; col: number } {
  const before = text.slice(0, offset);
  const lastBreak = before.lastIndexOf('\n');
  return { line: before.split('\n').length, col: offset - lastBreak };
}
