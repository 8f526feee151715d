import { expect, it } from 'vitest';
import { compareVersions } from '../../server/feed/version-order.ts';

/** Oldest first, as systemd-analyze compare-versions has it. */
const ORDERED = [
  ['1.9', '1.10'],
  ['1.32.1', '1.32.2', '1.32.9', '1.32.10', '1.33.0'],
  ['v1.32.1', '1.32.10', 'v1.33.0'],
  ['2.0.0', '2.0.4', '2.1', '10.0'],
  [
    '122.1',
    '123~rc1-1',
    '123',
    '123-a',
    '123-a.1',
    '123-1',
    '123-1.1',
    '123^post1',
    '123.a-1',
    '123.1-1',
    '123a-1',
    '124-1',
  ],
  ['1.33.0~rc.1', '1.33.0'],
  ['', '0'],
  ['99999999999999999998', '99999999999999999999', '100000000000000000000'],
];

it.each(ORDERED)('puts %s first', (...versions) => {
  for (const [index, version] of versions.entries()) {
    expect(compareVersions(version, version), version).toBe(0);
    for (const newer of versions.slice(index + 1)) {
      expect(compareVersions(version, newer), `${version} < ${newer}`).toBe(-1);
      expect(compareVersions(newer, version), `${newer} > ${version}`).toBe(1);
    }
  }
});

it.each([
  ['v1.33.2', '1.33.2'],
  ['1.033.2', '1.33.2'],
  ['1.33_2', '1.33_2'],
])('takes %s and %s for the same', (a, b) => expect(compareVersions(a, b)).toBe(0));
