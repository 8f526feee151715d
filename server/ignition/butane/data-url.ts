import { gzipSync } from 'node:zlib';
import type { Path } from '../../document/yaml.ts';
import { Recent } from '../../templating/recent.ts';

export interface DataUrl {
  source: string;
  /** `''` says "none", so that a config on top inherits nothing; `undefined`: leave what the author wrote. */
  compression: 'gzip' | '' | undefined;
}

/** Makes data URLs; `path` tells what in the document they are for. */
export interface DataUrls {
  of(contents: string, path: Path): DataUrl;
}

/** Remembers what contents became, since most files are the same for all hosts and compressing is dear. */
export class DataUrlCache implements DataUrls {
  readonly #kept: Recent<DataUrl>;

  constructor(maxCharacters = 32 * 1024 * 1024) {
    this.#kept = new Recent(maxCharacters, (contents, { source }) => contents.length + source.length);
  }

  of(contents: string): DataUrl {
    const known = this.#kept.get(contents);
    if (known !== undefined) return known;
    const made = makeDataUrl(Buffer.from(contents), false);
    this.#kept.keep(contents, made);
    return made;
  }
}

/**
 * The shortest of three ways to write contents into a URL, chosen as butane does: percent-encoded, base64, or gzip in
 * base64 (which also has to pay for the word "gzip"). Contents that the author has compressed are not compressed again.
 */
export function makeDataUrl(contents: Uint8Array, isCompressed: boolean): DataUrl {
  const escapedLength = 1 + lengthEscaped(contents);
  const base64Length = BASE64.length + lengthInBase64(contents.length);
  const shortest = Math.min(escapedLength, base64Length);
  if (!isCompressed && shortest > SMALLEST_GZIP) {
    const gzip = gzipSync(contents, contents.length <= SMALL.length ? SMALL.options : { level: 9 });
    if (BASE64.length + lengthInBase64(gzip.length + GO_ENDING) + 'gzip'.length < shortest) {
      return { source: `data:${BASE64}${gzip.toString('base64')}`, compression: 'gzip' };
    }
  }
  const compression = isCompressed ? undefined : '';
  if (base64Length < escapedLength) {
    return { source: `data:${BASE64}${Buffer.from(contents).toString('base64')}`, compression };
  }
  return { source: `data:,${percentEncode(contents)}`, compression };
}

const BASE64 = ';base64,';
/** Go ends a stream with an empty block that zlib does without: counted, so that both choose the same. */
const GO_ENDING = 4;
/** Most of the time for a small file goes into room that it doesn't need; it compresses to the same with less. */
const SMALL = { length: 1000, options: { level: 9, windowBits: 11, memLevel: 5, chunkSize: 1024 } };
/** Header, trailer and an empty block: nothing shorter gains from it. */
const SMALLEST_GZIP = BASE64.length + lengthInBase64(20) + 'gzip'.length;

/** How each byte is written: RFC 2396's unreserved characters as they are. */
const ESCAPED: readonly string[] = Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  if (/[A-Za-z0-9\-_.!~*'()]/.test(character)) return character;
  return `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
});

function percentEncode(contents: Uint8Array): string {
  let escaped = '';
  for (const byte of contents) escaped += ESCAPED[byte];
  return escaped;
}

function lengthEscaped(contents: Uint8Array): number {
  let length = 0;
  for (const byte of contents) length += ESCAPED[byte]!.length;
  return length;
}

function lengthInBase64(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}
