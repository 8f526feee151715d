import { isIPv6 } from 'node:net';

/** A URL as Ignition takes it apart: the rules of Go's `net/url`, which are not those of browsers. */
export interface GoUrl {
  /** In lower case. */
  scheme: string;
  /** What follows the scheme when that is no path: `aws:s3:::bucket/key`. */
  opaque: string;
  query: string;
}

/** undefined when it can't be taken apart, or has no scheme. */
export function parseGoUrl(text: string): GoUrl | undefined {
  const [beforeFragment = '', fragment] = cut(text, '#');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(beforeFragment)) return undefined;
  if (fragment !== undefined && !hasGoodEscapes(fragment)) return undefined;
  const [, scheme, afterScheme] = /^([a-z][a-z0-9+.-]*):(.*)$/is.exec(beforeFragment) ?? [];
  if (scheme === undefined || afterScheme === undefined) return undefined;
  const [rest = '', query = ''] = cut(afterScheme, '?');
  const url = { scheme: scheme.toLowerCase(), opaque: '', query };
  if (!rest.startsWith('/')) return { ...url, opaque: rest };
  if (!rest.startsWith('//')) return hasGoodEscapes(rest) ? url : undefined;
  const [authority = '', ...path] = rest.slice(2).split('/');
  return isGoodAuthority(authority) && hasGoodEscapes(path.join('/')) ? url : undefined;
}

/** The first value of a name in a query; undefined when it has none. */
export function queryValue(query: string, name: string): string | undefined {
  for (const pair of query.split('&')) {
    if (pair === '' || pair.includes(';')) continue;
    const [key = '', value = ''] = cut(pair, '=');
    if (!hasGoodEscapes(key) || !hasGoodEscapes(value)) continue;
    if (plainKey(key) === name) return value;
  }
  return undefined;
}

/** Of a key in a query; only ASCII is ever compared. */
function plainKey(text: string): string {
  return text
    .replaceAll('+', ' ')
    .replace(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}

function cut(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function hasGoodEscapes(text: string): boolean {
  return !/%(?![0-9a-f]{2})/i.test(text);
}

function isGoodAuthority(authority: string): boolean {
  const at = authority.lastIndexOf('@');
  const user = at < 0 ? '' : authority.slice(0, at);
  if (!/^[a-z0-9\-._:~!$&'()*+,;=%@]*$/i.test(user) || !hasGoodEscapes(user)) return false;
  const host = authority.slice(at + 1);
  const bracket = host.lastIndexOf('[');
  if (bracket > 0) return false;
  return bracket === 0 ? isGoodIpLiteral(host) : isGoodName(host);
}

function isGoodIpLiteral(host: string): boolean {
  const end = host.lastIndexOf(']');
  if (end < 0 || !isPort(host.slice(end + 1))) return false;
  const [address = '', zone] = cut(host.slice(1, end), '%25');
  // Node takes a bare "%" for the start of a zone, which in a URL is "%25".
  if (address.includes('%') || !isIPv6(address)) return false;
  return zone === undefined || (zone !== '' && hasGoodEscapes(zone) && isGoodHostText(withoutEscapes(zone)));
}

function isGoodName(host: string): boolean {
  // Only what follows the last colon must be a port: newer Go is stricter, but not in Ignition's releases.
  const colon = host.lastIndexOf(':');
  return (colon < 0 || isPort(host.slice(colon))) && isGoodHostText(host);
}

function isPort(text: string): boolean {
  return /^(?::[0-9]*)?$/.test(text);
}

/** In a host only what is not ASCII may be escaped, and "%" itself. */
function isGoodHostText(text: string): boolean {
  if (!hasGoodEscapes(text) || /%[0-7]/.test(text.replaceAll('%25', ''))) return false;
  return !/[^a-z0-9\-_.~!$&'()*+,;=:[\]<>"%\u0080-\uffff]/i.test(text);
}

function withoutEscapes(text: string): string {
  return text.replace(/%[0-9a-f]{2}/gi, '');
}
