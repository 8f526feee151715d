import { describe, expect, it } from 'vitest';
import { allowedVersions, clustersAt } from '../../server/feed/allowed-versions.ts';

const K8S = ['v1.9.0', 'v1.10.0', 'v1.32.1', 'v1.32.9', 'v1.32.10', 'v1.33.0', 'v1.34.0-rc.1', 'latest'];

describe('a cluster may have', () => {
  it.each<[kubernetes: string, allowed: string[]]>([
    ['1.8.0', []],
    ['1.9.0', ['v1.9.0']],
    ['1.9.99', ['v1.9.0']],
    ['1.10.0', ['v1.9.0', 'v1.10.0']],
    ['1.32.1', ['v1.9.0', 'v1.10.0', 'v1.32.1']],
    ['1.32.9', ['v1.9.0', 'v1.10.0', 'v1.32.1', 'v1.32.9']],
    ['1.32.10', ['v1.9.0', 'v1.10.0', 'v1.32.1', 'v1.32.9', 'v1.32.10']],
    ['v1.33.0', ['v1.9.0', 'v1.10.0', 'v1.32.1', 'v1.32.9', 'v1.32.10', 'v1.33.0']],
    // A pre-release is no version that a control plane can be known to be at.
    ['1.99.0', ['v1.9.0', 'v1.10.0', 'v1.32.1', 'v1.32.9', 'v1.32.10', 'v1.33.0']],
  ])('at Kubernetes %s: nothing newer', (kubernetes, allowed) => {
    expect(allowedVersions('kubernetes', K8S, { name: 'lab', kubernetes })).toEqual(allowed);
    const bare = K8S.map((version) => version.replace('v', ''));
    expect(allowedVersions('kubernetes', bare, { name: 'lab', kubernetes })).toEqual(
      allowed.map((version) => version.replace('v', '')),
    );
  });

  it.each<[containerd: string | undefined, allowed: string[]]>([
    [undefined, ['1.7.28', '2.1.5', '2.1.50', '2.2.0']],
    ['2.1.5', ['2.1.5']],
    ['v2.1.5', ['2.1.5']],
    ['2.3.0', []],
  ])('containerd %s: that one', (containerd, allowed) => {
    const cluster = {
      name: 'lab',
      kubernetes: '1.36.4',
      ...(containerd === undefined ? {} : { containerd }),
    };
    expect(allowedVersions('containerd', ['1.7.28', '2.1.5', '2.1.50', '2.2.0'], cluster)).toEqual(allowed);
  });

  it('any other extension in any version', () => {
    const versions = ['1', '2-beta', '3'];
    expect(allowedVersions('tailscale', versions, { name: 'lab', kubernetes: '1.36.4' })).toEqual(versions);
  });
});

it('knows who is at a version', () => {
  const clusters = [
    { name: 'a', kubernetes: '1.36.4', containerd: '2.1.5' },
    { name: 'b', kubernetes: 'v1.36.4' },
    { name: 'c', kubernetes: '1.36.40' },
  ];
  expect(clustersAt('kubernetes', 'v1.36.4', clusters)).toEqual(['a', 'b']);
  expect(clustersAt('containerd', '2.1.5', clusters)).toEqual(['a']);
  expect(clustersAt('containerd', '2.1.6', clusters)).toEqual([]);
  expect(clustersAt('tailscale', '1.36.4', clusters)).toEqual([]);
});
