import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normaliseName } from '../../server/tftp/names.ts';

describe('names are understood the way firmware writes them', () => {
  it.each([
    ['lpxelinux.0', 'lpxelinux.0'],
    ['/lpxelinux.0', 'lpxelinux.0'],
    ['//boot//lpxelinux.0', 'boot/lpxelinux.0'],
    ['boot\\x64\\wdsnbp.com', 'boot/x64/wdsnbp.com'],
    ['\\pxelinux.cfg/./default', 'pxelinux.cfg/default'],
    ['a..b/...', 'a..b/...'],
    ['pxelinux.0\xff', 'pxelinux.0'],
    ['/pxelinux.0\xff\xd13*G', 'pxelinux.0'],
  ])('%s', (raw, name) => {
    expect(normaliseName(raw)).toEqual({ name });
  });
});

describe('what could leave the root is refused', () => {
  it.each([
    ['../etc/passwd', 'out of the root'],
    ['a/../../b', 'out of the root'],
    ['a/../b', 'out of the root'],
    ['..\\..\\windows', 'out of the root'],
    ['C:\\boot\\x', 'drive letter'],
    ['a\0b', 'control characters'],
    ['a\nb', 'control characters'],
    ['', 'empty'],
    ['///', 'empty'],
    ['a'.repeat(256), 'too long'],
  ])('%j', (raw, fault) => {
    expect(normaliseName(raw)).toEqual({ fault: expect.stringContaining(fault) });
  });

  it('whatever the name, the result never climbs and is never absolute', () => {
    const piece = fc.constantFrom('..', '.', '/', '\\', 'a', 'b c', '...', '~', '%2e%2e', ':');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const result = normaliseName(pieces.join(''));
        if ('fault' in result) return;
        expect(result.name.startsWith('/')).toBe(false);
        expect(result.name.split('/')).not.toContain('..');
        expect(result.name).not.toContain('\\');
      }),
    );
  });
});
