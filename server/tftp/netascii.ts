const CR = 0x0d;
const LF = 0x0a;

/** It is for texts. Larger files are asked for in this mode by mistake, and to convert them would hold others up. */
export const MAX_NETASCII_BYTES = 4 * 1024 * 1024;

/** A text as netascii wants it: lines end with CR LF, and a CR of its own is CR NUL (RFC 764). */
export function toNetascii(content: Buffer): Buffer {
  let extra = 0;
  // By index: iterating takes more than twice as long.
  for (let i = 0; i < content.length; i++) if (content[i] === CR || content[i] === LF) extra++;
  if (extra === 0) return content;
  const result = Buffer.allocUnsafeSlow(content.length + extra);
  let at = 0;
  for (let i = 0; i < content.length; i++) {
    const byte = content[i]!;
    if (byte === LF) result[at++] = CR;
    result[at++] = byte;
    if (byte === CR) result[at++] = 0;
  }
  return result;
}

/** Files in netascii: converted once, however many read them, and kept as long as the file itself is. */
export class NetasciiCache {
  readonly #converted = new WeakMap<Buffer, Buffer>();

  convert(content: Buffer): Buffer {
    let converted = this.#converted.get(content);
    if (converted === undefined) {
      converted = toNetascii(content);
      this.#converted.set(content, converted);
    }
    return converted;
  }
}
