/**
 * The one spelling of a MAC address inside Railhead: `52:54:00:12:34:01`.
 * Takes what people, firmware and switches write (AA:BB:…, aa-bb-…, aabb.ccdd.eeff, aabbcc-ddeeff, aabbccddeeff);
 * `undefined` for the rest.
 */
export function normaliseMac(text: string): string | undefined {
  const spellings =
    /^(?:[0-9a-f]{2}(:[0-9a-f]{2}){5}|[0-9a-f]{2}(-[0-9a-f]{2}){5}|[0-9a-f]{4}(\.[0-9a-f]{4}){2}|[0-9a-f]{6}-?[0-9a-f]{6})$/i;
  if (!spellings.test(text)) return undefined;
  return text
    .toLowerCase()
    .replaceAll(/[^0-9a-f]/g, '')
    .match(/../g)!
    .join(':');
}

/** Why an address can't be a card's own, or `undefined`; `mac` in the spelling of `normaliseMac`. */
export function macFault(mac: string): string | undefined {
  if (mac === '00:00:00:00:00:00') return 'is all zeros';
  if ((Number.parseInt(mac.slice(0, 2), 16) & 1) === 1) return 'is a multicast address';
  return undefined;
}
