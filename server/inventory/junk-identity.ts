import { uuidKey } from './uuid.ts';

/**
 * What vendors leave in firmware when nobody fills in the form. Thousands of machines share these, so they tell none
 * of them from another.
 */
const FILLERS = new Set(
  ['03000200-0400-0500-0006-000700080009', '12345678-1234-5678-90ab-cddeefaabbcc'].map(uuidKey),
);

const JUNK_SERIALS =
  /^(to be filled by o\.?e\.?m\.?|default string|system serial number|not specified|not applicable|none|n\/a|unknown|invalid|empty|[0.\-\s]*|0x0*|x{3,}|f{4,}|0?123456789|chassis serial number)$/i;

/** In the spelling of `normaliseUuid`. */
export function isJunkUuid(uuid: string): boolean {
  return /^(0[0-]+|f[f-]+)$/.test(uuid) || FILLERS.has(uuidKey(uuid));
}

export function isJunkSerial(serial: string): boolean {
  return JUNK_SERIALS.test(serial.trim());
}
