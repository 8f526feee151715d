import { StringDecoder } from 'node:string_decoder';
import type { Redactor } from './redact.ts';

/** More than any sane line has; one without an end is cut there. */
const LONGEST_LINE = 16 * 1024;

/** Bytes to whole lines: without secrets, and without what only a terminal understands. */
export class Lines {
  readonly #decoder = new StringDecoder('utf8');
  readonly #redactor: Redactor;
  readonly #onLine: (line: string) => void;
  #rest = '';

  constructor(redactor: Redactor, onLine: (line: string) => void) {
    this.#redactor = redactor;
    this.#onLine = onLine;
  }

  write(chunk: Buffer): void {
    const parts = (this.#rest + this.#decoder.write(chunk)).split(/\r\n|\n|\r(?=.)/);
    this.#rest = parts.pop() ?? '';
    for (const line of parts) this.#onLine(this.#clean(line));
    if (this.#rest.length <= LONGEST_LINE + this.#redactor.longest) return;
    // A secret may go on in what comes next: as much as the longest one has is kept back.
    const cleaned = this.#clean(this.#rest);
    const cut = Math.max(0, cleaned.length - this.#redactor.longest);
    this.#onLine(cleaned.slice(0, cut));
    this.#rest = cleaned.slice(cut);
  }

  end(): void {
    const last = this.#rest + this.#decoder.end();
    this.#rest = '';
    if (last !== '') this.#onLine(this.#clean(last));
  }

  #clean(line: string): string {
    // Colours and other orders to a terminal; a zero byte, which no database takes.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
    const plain = line.replaceAll(/\u001b\[[0-9;?]*[A-Za-z]|[\u0000-\u0008\u000b-\u001f\u007f]/g, '');
    return this.#redactor.clean(plain);
  }
}
