import { randomBytes } from 'node:crypto';

/** Stands for a value in what a template wrote. No template contains it: `readTemplate` sees to that. */
export const HOLE = '\0';

/**
 * Placeholders take the place of values while YAML is parsed. Each is a word that YAML takes for text in every position
 * (letters and digits; `Z` makes no escape of a backslash before it) and that nobody can guess: 128 random bits, made
 * when the text is parsed. Values are put in after that, in one pass over the parsed document, and are never looked at
 * again; so not even a value that did contain a placeholder would be taken for one.
 */
export function newMark(): string {
  return `Zq${randomBytes(16).toString('hex')}`;
}

/** All of one length, so that offsets can be worked out. */
export function placeholder(mark: string, index: number): string {
  return `${mark}x${String(index).padStart(7, '0')}z`;
}

export const PLACEHOLDER_LENGTH = 2 + 32 + 1 + 7 + 1;

/** What a template wrote, with a placeholder for each hole. */
export function withPlaceholders(written: string, mark: string): string {
  const [first, ...rest] = written.split(HOLE);
  return first + rest.map((part, index) => placeholder(mark, index) + part).join('');
}

/** Text and, between each two of it, the index of a value. */
export type Parts = readonly (string | number)[];

/** `undefined` for text without placeholders. */
export function partsOf(text: string, mark: string): Parts | undefined {
  if (!text.includes(mark)) return undefined;
  const pieces = text.split(new RegExp(`${mark}x(\\d{7})z`));
  return pieces.map((piece, index) => (index % 2 === 0 ? piece : Number(piece)));
}

/** A message for people, who wrote no placeholder. */
export function unmask(message: string, mark: string): string {
  return message.replaceAll(new RegExp(`${mark}(x\\d{7}z)?`, 'g'), '{{…}}');
}

/**
 * Whether the author put the placeholder in quotes, or in a block of text: then text is wanted, whatever the value is.
 * Each placeholder is in the text once, so what stands around it tells.
 */
export function isInQuotes(text: string, mark: string, index: number): boolean {
  const at = text.indexOf(placeholder(mark, index));
  const before = text[at - 1];
  if (before === '"' || before === "'") return true;
  return /(^|[\s:-])[|>][-+1-9]+[ \t]*\r?\n\s*$/.test(text.slice(Math.max(0, at - 400), at));
}
