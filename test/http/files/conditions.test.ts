import { expect, it } from 'vitest';
import { judge } from '../../../server/http/files/conditions.ts';

const modifiedAt = Date.parse('2026-01-02T03:04:05.678Z');
const current = { size: 100, tags: ['"sha"', '"v-1"'], modifiedAt };
const NOW = modifiedAt + 60_000;
const SAME = 'Fri, 02 Jan 2026 03:04:05 GMT';
const BEFORE = 'Fri, 02 Jan 2026 03:04:04 GMT';
const RANGE = { range: 'bytes=10-19' };
const WHOLE = { status: 200, start: 0, end: 99 };
const PART = { status: 206, start: 10, end: 19 };

const ask = (headers: Record<string, string>, { method = 'GET', now = NOW } = {}) =>
  judge({ method, headers }, current, now);

it.each([
  [{}, WHOLE],
  [RANGE, PART],
  [{ range: 'bytes=100-' }, { status: 416 }],
  [{ 'if-none-match': '"sha"' }, { status: 304 }],
  [{ 'if-none-match': 'W/"sha"' }, { status: 304 }],
  [{ 'if-none-match': '"other", "v-1"' }, { status: 304 }],
  [{ 'if-none-match': '*' }, { status: 304 }],
  [{ 'if-none-match': '"other"' }, WHOLE],
  [{ 'if-none-match': '"other"', 'if-modified-since': SAME }, WHOLE],
  [{ 'if-none-match': '"sha"', ...RANGE }, { status: 304 }],
  [{ 'if-modified-since': SAME }, { status: 304 }],
  [{ 'if-modified-since': BEFORE }, WHOLE],
  [{ 'if-modified-since': 'yesterday' }, WHOLE],
  [{ 'if-match': '"sha"' }, WHOLE],
  [{ 'if-match': 'W/"sha"' }, { status: 412 }],
  [{ 'if-match': '"other"' }, { status: 412 }],
  [{ 'if-unmodified-since': SAME }, WHOLE],
  [{ 'if-unmodified-since': BEFORE }, { status: 412 }],
  [{ ...RANGE, 'if-range': '"sha"' }, PART],
  [{ ...RANGE, 'if-range': '"v-1"' }, PART],
  [{ ...RANGE, 'if-range': 'W/"sha"' }, WHOLE],
  [{ ...RANGE, 'if-range': '"other"' }, WHOLE],
  [{ ...RANGE, 'if-range': SAME }, PART],
  [{ ...RANGE, 'if-range': BEFORE }, WHOLE],
  [{ ...RANGE, 'if-range': 'nonsense' }, WHOLE],
  [{ range: 'bytes=100-', 'if-range': '"other"' }, WHOLE],
] as [Record<string, string>, unknown][])('answers %j with %j', (headers, verdict) => {
  expect(ask(headers)).toEqual(verdict);
});

it('does not trust a date within its own second', () => {
  expect(ask({ ...RANGE, 'if-range': SAME }, { now: modifiedAt + 500 })).toEqual(WHOLE);
});

it('has parts for GET only', () => {
  expect(ask(RANGE, { method: 'HEAD' })).toEqual(WHOLE);
});
