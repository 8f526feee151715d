import { describe, expect, it } from 'vitest';
import { formatSums } from '../../server/feed/sums.ts';
import { noopDefinition, spellMinor, transferDefinition } from '../../server/feed/transfer-definition.ts';

describe('SHA256SUMS', () => {
  const [a, b] = ['a'.repeat(64), 'b'.repeat(64)];

  it('has one line for each image, always in the same order, and nothing else', () => {
    const files = [
      { file: 'x-2-x86-64.raw', sha256: b },
      { file: 'x-1-x86-64.raw', sha256: a },
    ];
    const text = `${a} *x-1-x86-64.raw\n${b} *x-2-x86-64.raw\n`;
    expect(formatSums(files)).toBe(text);
    expect(formatSums(files.toReversed())).toBe(text);
    expect(formatSums([])).toMatch(/^e3b0c442[0-9a-f]{56} \*nothing-for-you\n$/);
  });

  it.each([
    { file: 'sub/x.raw', sha256: a },
    { file: 'x y.raw', sha256: a },
    { file: 'x.raw\n', sha256: a },
    { file: '.x.raw', sha256: a },
    { file: 'x.raw', sha256: a.toUpperCase() },
    { file: 'x.raw', sha256: 'aa' },
  ])('never has what would spoil all of it: %j', (file) =>
    expect(() => formatSums([file])).toThrow(TypeError),
  );
});

describe('a transfer definition', () => {
  const baseUrl = 'http://10.0.0.5:8080';

  it('follows an extension', () => {
    expect(transferDefinition({ name: 'kubernetes', baseUrl, verify: true })).toBe(`[Transfer]
Verify=yes

[Source]
Type=url-file
Path=http://10.0.0.5:8080/sysext/kubernetes/
MatchPattern=kubernetes-@v-%a.raw

[Target]
InstancesMax=3
Type=regular-file
Path=/opt/extensions/kubernetes
CurrentSymlink=/etc/extensions/kubernetes.raw
`);
  });

  it('can be for one cluster, one minor, and without a signature', () => {
    const text = transferDefinition({
      name: 'kubernetes',
      baseUrl: `${baseUrl}/`,
      cluster: 'lab',
      minor: 'v1.33',
      verify: false,
    });
    expect(text).toContain('Verify=no\n');
    expect(text).toContain('Path=http://10.0.0.5:8080/sysext/c/lab/kubernetes/\n');
    expect(text).toContain('MatchPattern=kubernetes-v1.33.@v-%a.raw\n');
  });

  it.each<[name: string, minor: string, versions: string[], spelled: string]>([
    ['kubernetes', '1.33', [], 'v1.33'],
    ['kubernetes', 'v1.33', [], 'v1.33'],
    ['kubernetes', '1.33', ['1.33.2'], '1.33'],
    ['containerd', '2.0', [], '2.0'],
    ['containerd', 'v2.0', ['2.0.4'], '2.0'],
    ['containerd', '2.0', ['2.1.0', 'v2.0.4'], 'v2.0'],
    ['containerd', '2.1', ['2.10.0'], '2.1'],
  ])('spells the minor of %s %s (there: %j) as %4$s', (name, minor, versions, spelled) =>
    expect(spellMinor(name, minor, versions)).toBe(spelled),
  );

  it('can be one that does nothing', () =>
    expect(noopDefinition()).toContain('MatchPattern=invalid@v.raw\n'));
});
