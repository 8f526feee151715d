import { expect, it } from 'vitest';
import { LoaderLoops } from '../../server/boot/loader-loop.ts';

function world() {
  let now = 1000;
  const loops = new LoaderLoops(() => now);
  return {
    pass: (seconds: number) => {
      now += seconds * 1000;
    },
    isLoop: (...args: Parameters<LoaderLoops['sent']>) => loops.sent(...args) !== undefined,
    loops,
  };
}

it('a machine that is sent iPXE twice within a minute is in a loop, and the fix is named', () => {
  const { loops, isLoop, pass } = world();
  expect(isLoop('10.0.0.9', 'undionly.kpxe')).toBe(false);
  pass(20);
  expect(loops.sent('10.0.0.9', 'undionly.kpxe')).toMatchObject({
    kind: 'boot.loader-loop',
    data: { client: '10.0.0.9', file: 'undionly.kpxe', fix: expect.stringContaining('option 175') },
  });
});

it('not one that boots again later, nor another machine, nor one that is sent something else', () => {
  const { isLoop, pass } = world();
  isLoop('10.0.0.9', 'snponly.efi');
  expect(isLoop('10.0.0.10', 'snponly.efi')).toBe(false);
  expect(isLoop('10.0.0.9', 'lpxelinux.0')).toBe(false);
  pass(61);
  expect(isLoop('10.0.0.9', 'snponly.efi')).toBe(false);
});

it('an iPXE that says what it is is in a loop at once', () => {
  const { isLoop } = world();
  expect(isLoop('10.0.0.9', 'arm64/snponly-arm64.efi', true)).toBe(true);
  expect(isLoop('10.0.0.9', 'boot.ipxe', true)).toBe(false);
});
