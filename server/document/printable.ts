/**
 * Text from elsewhere as one line for people: what a terminal would obey, or what would look like a line of its own,
 * is only shown to have been there.
 */
export function printable(text: string): string {
  return text.replaceAll(/[\n\r\t]+/g, ' ').replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '\u{fffd}');
}

/** For what is to be kept and compared: no database takes a zero byte, and nobody means the others. */
export function withoutControls(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '');
}
