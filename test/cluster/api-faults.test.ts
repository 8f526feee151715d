import { expect, it } from 'vitest';
import { explainApiFault, statusOf } from '../../server/cluster/kubernetes-api.ts';

const fetchFailed = (code: string): Error => new TypeError('fetch failed', { cause: { code } });

it.each([
  ['a refusal', Object.assign(new Error('HTTP-Code: 403'), { code: 403 }), 'it refuses us (403)'],
  ['another status', Object.assign(new Error('HTTP-Code: 500'), { code: 500 }), 'it answers with 500'],
  ['nobody there', fetchFailed('ECONNREFUSED'), 'no answer (ECONNREFUSED)'],
  ['a stranger', fetchFailed('DEPTH_ZERO_SELF_SIGNED_CERT'), 'what answers there is not this cluster'],
])('says why the API can not be asked: %s', (_, error, words) => {
  expect(explainApiFault(error)).toContain(words);
});

it('a time that is up is no answer, whatever number it has', async () => {
  const signal = AbortSignal.timeout(0);
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
  expect(signal.reason.code).toBe(DOMException.TIMEOUT_ERR);
  expect(statusOf(signal.reason)).toBeUndefined();
  expect(explainApiFault(signal.reason)).toMatch(/^no answer within \d+ s$/);
});
