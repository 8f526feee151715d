const CR = 0x0d;
const LF = 0x0a;

/** A text as netascii wants it: lines end with CR LF, and a CR of its own is CR NUL (RFC 764). */
export function toNetascii(content: Buffer): Buffer {
  let extra = 0;
  for (const byte of content) if (byte === CR || byte === LF) extra++;
  if (extra === 0) return content;
  const result = Buffer.allocUnsafe(content.length + extra);
  let at = 0;
  for (const byte of content) {
    if (byte === LF) result[at++] = CR;
    result[at++] = byte;
    if (byte === CR) result[at++] = 0;
  }
  return result;
}
