/**
 * Why a `data:` URL can't be decoded, or undefined when it can. Ignition's decoder is stricter than a browser's: it
 * refuses types that it doesn't know, base64 without padding, and letters that a URL must escape.
 */
export function dataUrlFault(url: string): string | undefined {
  if (!url.startsWith('data:')) return 'write "data:" in lower-case letters';
  const header = readHeader(url);
  if (typeof header === 'string') return header;
  const data = url.slice(header.dataStart);
  return header.isBase64 ? base64Fault(data) : percentFault(data);
}

interface Header {
  isBase64: boolean;
  dataStart: number;
}

const PREFIX_LENGTH = 'data:'.length;
const KNOWN_TYPE = /^(text|image|audio|video|application|message|multipart|[xX]-)/;
/** Go's notation of text in double quotes. */
const QUOTED_VALUE =
  /^(?:[^\\\n]|\\(?:[abfnrtv\\"]|x[0-9a-fA-F]{2}|[0-3][0-7]{2}|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}|U000[0-9a-fA-F]{5}|U0010[0-9a-fA-F]{4}))*$/;

function readHeader(url: string): Header | string {
  let at = PREFIX_LENGTH;
  /** A value of "" in quotes leaves the decoder believing that the next one is in quotes, too. */
  let unquoteNext = false;
  /** What may be in a token of a media type: visible ASCII without `()<>@,;:\"/[]?=`. */
  const tokenHere = /[!#$%&'*+\-.0-9A-Z^_`a-z{|}~]*/y;
  const token = (): string => {
    tokenHere.lastIndex = at;
    const found = tokenHere.exec(url)?.[0] ?? '';
    at += found.length;
    return found;
  };
  if (url[at] !== ';' && url[at] !== ',') {
    const type = token();
    if (url[at] !== '/') return 'the media type before the comma is not like "text/plain"; write "data:,…"';
    if (!KNOWN_TYPE.test(type)) return 'the media type is none that Ignition knows; write "data:,…"';
    at++;
    token();
  }
  while (url[at] === ';') {
    at++;
    const name = token();
    if (name === '') return 'a ";" before the comma is followed by nothing; remove it';
    if (url[at] === ',') {
      if (name !== 'base64') return `";${name}" before the comma has no value; only ";base64" stands alone`;
      return { isBase64: true, dataStart: at + 1 };
    }
    if (url[at] !== '=')
      return `";${name}" is not followed by "=" or ","; only ";base64" stands alone, at the end`;
    at++;
    if (url[at] === '"') {
      const value = quotedText(url, at + 1);
      if (value === undefined) return `the quotes around the value of "${name}" are not closed`;
      at += value.length + 2;
      unquoteNext = value === '';
      if (value !== '' && !QUOTED_VALUE.test(value)) return `the value of "${name}" has a bad escape`;
    } else {
      const value = token();
      if (value === '') return `";${name}=" has no value`;
      if (unquoteNext ? !QUOTED_VALUE.test(value) : hasBadEscape(value)) {
        return `the value of "${name}" has a bad escape`;
      }
      unquoteNext = false;
    }
  }
  if (url[at] !== ',') return 'there is no comma before the data; write "data:,…" or "data:;base64,…"';
  return { isBase64: false, dataStart: at + 1 };
}

/** Up to the closing quote; undefined when there is none, or something that is not ASCII before it. */
function quotedText(url: string, start: number): string | undefined {
  for (let at = start; at < url.length; at++) {
    if (url.charCodeAt(at) > 0x7f) return undefined;
    if (url[at] === '"') return url.slice(start, at);
    if (url[at] === '\\' && url.charCodeAt(++at) > 0x7f) return undefined;
  }
  return undefined;
}

function base64Fault(data: string): string | undefined {
  const bad = /[^A-Za-z0-9+/=]/.exec(data)?.[0];
  if (bad !== undefined) return `${JSON.stringify(bad)} is no letter of base64`;
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0;
  const isWhole = data.length % 4 === 0 && !data.slice(0, data.length - padding).includes('=');
  return isWhole ? undefined : 'the base64 is cut off, or lacks its "=" at the end';
}

function percentFault(data: string): string | undefined {
  const bad = /[^!$%&'()*+,\-./0-9:;=?@A-Z_a-z~]/u.exec(data)?.[0];
  if (bad !== undefined) {
    return `${JSON.stringify(bad)} must be escaped as ${encodeURIComponent(bad.isWellFormed() ? bad : '\ufffd')}`;
  }
  return hasBadEscape(data)
    ? 'a "%" is not followed by two hexadecimal digits; "%" itself is "%25"'
    : undefined;
}

function hasBadEscape(text: string): boolean {
  return /%(?![0-9a-fA-F]{2})/.test(text);
}
