import { expect, it } from 'vitest';
import { DEFAULT_LIMITS, negotiate } from '../../server/tftp/negotiate.ts';

it.each([
  ['nothing asked: no answer, 512 bytes in lockstep', {}, { blockSize: 512, windowSize: 1 }, undefined],
  [
    'iPXE',
    { blksize: '1432', tsize: '0' },
    { blockSize: 1432, windowSize: 1 },
    { blksize: '1432', tsize: '777' },
  ],
  [
    'EDK2',
    { tsize: '0', blksize: '1468', windowsize: '4' },
    { blockSize: 1468, windowSize: 4 },
    { tsize: '777', blksize: '1468', windowsize: '4' },
  ],
  [
    'a block larger than a frame is made to fit',
    { blksize: '65464' },
    { blockSize: 1468, windowSize: 1 },
    { blksize: '1468' },
  ],
  [
    'a huge window is made smaller',
    { windowsize: '65535' },
    { blockSize: 512, windowSize: 64 },
    { windowsize: '64' },
  ],
  [
    'the time-out is taken as it is',
    { timeout: '7' },
    { blockSize: 512, windowSize: 1, timeoutSeconds: 7 },
    { timeout: '7' },
  ],
  [
    'senseless values are left out',
    { blksize: '7', windowsize: '0', timeout: '256' },
    { blockSize: 512, windowSize: 1 },
    undefined,
  ],
  [
    'no numbers are left out',
    { blksize: '-8', tsize: 'x', windowsize: '4.5', timeout: '' },
    { blockSize: 512, windowSize: 1 },
    undefined,
  ],
  [
    'unknown options are left out',
    { multicast: '', blksize2: '512', tsize: '0' },
    { blockSize: 512, windowSize: 1 },
    { tsize: '777' },
  ],
])('%s', (_what, asked, terms, accepted) => {
  expect(negotiate(asked as Record<string, string>, 777, DEFAULT_LIMITS)).toEqual({ terms, accepted });
});
