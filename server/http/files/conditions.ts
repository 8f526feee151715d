import type { IncomingHttpHeaders } from 'node:http';
import { parseRange } from './range.ts';

/** The file as it is now, as far as its requests can be about it. */
export interface Current {
  size: number;
  /** Every strong ETag that names these bytes, with its quotes; the first is the one that answers carry. */
  tags: readonly string[];
  modifiedAt: number;
}

export type Verdict = { status: 200 | 206; start: number; end: number } | { status: 304 | 412 | 416 };

/** A file can change twice in the second that a date is precise to: until it is over, the date proves nothing. */
const DATE_PRECISION_MS = 1000;

/** What to answer, in the order of RFC 9110, 13.2.2. `end` is -1 for an empty file. */
export function judge(
  { method, headers }: { method: string; headers: IncomingHttpHeaders },
  current: Current,
  now: number,
): Verdict {
  const { tags, modifiedAt, size } = current;
  const modified = toSeconds(modifiedAt);
  const unmodifiedSince = dateOf(headers['if-unmodified-since']);
  if (headers['if-match'] !== undefined) {
    if (!listed(headers['if-match'], tags)) return { status: 412 };
  } else if (unmodifiedSince !== undefined && modified > unmodifiedSince) return { status: 412 };

  const modifiedSince = dateOf(headers['if-modified-since']);
  if (headers['if-none-match'] !== undefined) {
    // Caches that weaken a tag still mean these bytes.
    if (listed(headers['if-none-match'].replaceAll('W/"', '"'), tags)) return { status: 304 };
  } else if (modifiedSince !== undefined && modified <= modifiedSince) return { status: 304 };

  const whole: Verdict = { status: 200, start: 0, end: size - 1 };
  if (method !== 'GET' || !rangeHolds(headers['if-range'], current, now)) return whole;
  const wanted = parseRange(headers.range, size);
  if (wanted.kind === 'nothing') return { status: 416 };
  return wanted.kind === 'part' ? { status: 206, start: wanted.start, end: wanted.end } : whole;
}

/** The part that is asked for continues the one the client has only if that one is of this file. */
function rangeHolds(condition: unknown, { tags, modifiedAt }: Current, now: number): boolean {
  if (typeof condition !== 'string') return true;
  if (/^(W\/)?"/.test(condition.trim())) return tags.includes(condition.trim());
  return dateOf(condition) === toSeconds(modifiedAt) && now - modifiedAt > DATE_PRECISION_MS;
}

function listed(header: string, tags: readonly string[]): boolean {
  if (header.trim() === '*') return true;
  return header.split(',').some((tag) => tags.includes(tag.trim()));
}

/** In milliseconds, as precise as an HTTP date is. */
export function toSeconds(time: number): number {
  return Math.floor(time / 1000) * 1000;
}

function dateOf(header: string | undefined): number | undefined {
  const time = Date.parse(header ?? '');
  return Number.isNaN(time) ? undefined : time;
}
