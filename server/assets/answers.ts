import type { IncomingMessage } from 'node:http';
import { FetchFault } from './fault.ts';
import { shownUrl } from './shown-url.ts';

/** What an answer that carries no file means. Pure but for the clock of `Retry-After`. */
export function faultOf({ statusCode = 0, headers }: IncomingMessage, url: URL): FetchFault {
  const where = shownUrl(url);
  if (statusCode === 404 || statusCode === 410)
    return new FetchFault(`${where} is not there (${statusCode}).`, { isAbsent: true });
  const passes = statusCode >= 500 || statusCode === 408 || statusCode === 425 || statusCode === 429;
  const seconds = Number(headers['retry-after']);
  const waitMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined;
  return new FetchFault(`${where} answered ${statusCode}.`, { passes, waitMs });
}

/** `Content-Length`, where it says how long the body is. */
export function lengthOf({ headers }: Pick<IncomingMessage, 'headers'>): number | undefined {
  const text = headers['content-length'];
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

// `Content-Range: bytes 100-199/200`; in a refusal a star stands for the part.
export function contentRangeOf({ headers }: Pick<IncomingMessage, 'headers'>): {
  start?: number;
  total?: number;
} {
  const match = /^bytes (?:(\d{1,15})-\d{1,15}|\*)\/(\d{1,15}|\*)$/i.exec(headers['content-range'] ?? '');
  if (match === null) return {};
  const [, start, total] = match;
  return {
    ...(start === undefined ? {} : { start: Number(start) }),
    ...(total === undefined || total === '*' ? {} : { total: Number(total) }),
  };
}

/** What can be said in `If-Range`: a strong ETag, or a date. */
export function validatorOf({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const { etag } = headers;
  return etag !== undefined && /^"[^"]*"$/.test(etag) ? etag : headers['last-modified'];
}
