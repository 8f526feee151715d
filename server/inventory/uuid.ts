const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

/** Lower case with dashes, in the byte order it was written in; `undefined` if it isn't a UUID. */
export function normaliseUuid(text: string): string | undefined {
  if (!UUID.test(text)) return undefined;
  const hex = text.toLowerCase().replaceAll('-', '');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/**
 * The same UUID in the other byte order. SMBIOS before 2.6 left the order open, so the firmware, the boot loader
 * and the sticker on one machine can disagree about the first three fields.
 */
export function swapUuid(uuid: string): string {
  const [a, b, c, ...rest] = uuid.split('-') as [string, string, string, ...string[]];
  return [swapBytes(a), swapBytes(b), swapBytes(c), ...rest].join('-');
}

/** The same for both byte orders of one UUID: what to compare and to index by. */
export function uuidKey(uuid: string): string {
  const swapped = swapUuid(uuid);
  return uuid < swapped ? uuid : swapped;
}

function swapBytes(hex: string): string {
  return hex.match(/../g)!.reverse().join('');
}
