/**
 * What vendors leave in firmware when nobody fills in the form. Thousands of machines share these, so they tell none
 * of them from another.
 */
const JUNK_UUIDS = new Set([
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  '03000200-0400-0500-0006-000700080009',
  '00020003-0004-0005-0006-000700080009',
  '12345678-1234-5678-90ab-cddeefaabbcc',
]);

const JUNK_SERIALS =
  /^(to be filled by o\.?e\.?m\.?|default string|system serial number|not specified|not applicable|none|n\/a|unknown|invalid|empty|[0x.\-\s]*|f+|0?123456789|chassis serial number)$/i;

export function isJunkUuid(uuid: string): boolean {
  return JUNK_UUIDS.has(uuid);
}

export function isJunkSerial(serial: string): boolean {
  return JUNK_SERIALS.test(serial.trim());
}
