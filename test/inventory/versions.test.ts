import { describe, expect, it } from 'vitest';
import {
  compareVersions,
  containerdFault,
  kubernetesFault,
  parseVersion,
} from '../../server/inventory/versions.ts';

describe('a version', () => {
  it.each([
    { text: '1.36.4', version: { major: 1, minor: 36, patch: 4 } },
    { text: 'v1.36.4', version: { major: 1, minor: 36, patch: 4 } },
    { text: '2.0', version: { major: 2, minor: 0, patch: 0 } },
  ])('$text is read', ({ text, version }) => {
    expect(parseVersion(text)).toEqual(version);
  });

  it.each([
    { low: '1.9.9', high: '1.10.0' },
    { low: '1.36.4', high: '1.36.10' },
    { low: '1.99.99', high: '2.0.0' },
  ])('$low is lower than $high', ({ low, high }) => {
    expect(compareVersions(parseVersion(low), parseVersion(high))).toBeLessThan(0);
    expect(compareVersions(parseVersion(high), parseVersion(low))).toBeGreaterThan(0);
    expect(compareVersions(parseVersion(high), parseVersion(high))).toBe(0);
  });
});

it.each([
  { version: '1.36.4', fault: undefined },
  { version: '1.22.0', fault: undefined },
  { version: '1.99.0', fault: undefined },
  {
    version: '1.21.14',
    fault: 'Kubernetes 1.21.14 is too old; the oldest that Railhead can set up is 1.22.0',
  },
  { version: '2.0.0', fault: 'Kubernetes 2.0.0 does not exist; versions start with 1' },
  { version: '0.36.0', fault: 'Kubernetes 0.36.0 does not exist; versions start with 1' },
])('Kubernetes $version: $fault', ({ version, fault }) => {
  expect(kubernetesFault(version)).toBe(fault);
});

describe('containerd', () => {
  it.each([
    { kubernetes: '1.36.4', containerd: '2.1.5' },
    { kubernetes: '1.36.4', containerd: '2.2.0' },
    { kubernetes: '1.36.4', containerd: '3.0.0' },
    { kubernetes: '1.35.0', containerd: '1.7.28' },
    { kubernetes: '1.30.2', containerd: '1.6.28' },
    { kubernetes: '1.30.2', containerd: '2.1.0' },
    // Newer than what is known: judged as the newest known one.
    { kubernetes: '1.40.0', containerd: '2.1.5' },
    // Older than what is known: nothing is.
    { kubernetes: '1.24.0', containerd: '1.5.0' },
  ])('$containerd is fine for Kubernetes $kubernetes', ({ kubernetes, containerd }) => {
    expect(containerdFault(kubernetes, containerd)).toBeUndefined();
  });

  it.each([
    { kubernetes: '1.36.4', containerd: '2.1.4', wanted: '2.1.5' },
    { kubernetes: '1.36.4', containerd: '1.7.30', wanted: '2.1.5' },
    { kubernetes: '1.36.4', containerd: '2.0.9', wanted: '2.1.5' },
    { kubernetes: '1.40.0', containerd: '1.7.30', wanted: '2.1.5' },
    { kubernetes: '1.30.2', containerd: '1.7.12', wanted: '1.6.28 or 1.7.13 or 2.0.0' },
    { kubernetes: '1.30.2', containerd: '1.5.0', wanted: '1.6.28 or 1.7.13 or 2.0.0' },
  ])('$containerd is too old for Kubernetes $kubernetes', ({ kubernetes, containerd, wanted }) => {
    expect(containerdFault(kubernetes, containerd)).toBe(
      `Kubernetes ${kubernetes} needs a newer containerd than ${containerd}: ${wanted} or later`,
    );
  });
});
