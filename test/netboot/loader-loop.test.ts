import { expect, it } from 'vitest';
import { LoaderLoops } from '../../server/netboot/loader-loop.ts';

const MENU = 'menu';

/** What happens, 20 seconds apart: a loader that is sent to 10.0.0.9, a menu that it asks for, or a pause in seconds. */
type Step = string | number;

/** The positions of the steps that are a loop. */
function loopsIn(steps: readonly Step[]): number[] {
  let now = 1000;
  const loops = new LoaderLoops(() => now);
  return steps.flatMap((step, index) => {
    now += typeof step === 'number' ? step * 1000 : 20_000;
    if (step === MENU) loops.gotMenu('10.0.0.9');
    const [address, file] = String(step).includes(' ') ? String(step).split(' ') : ['10.0.0.9', String(step)];
    return loops.sent(address!, file!) === undefined ? [] : [index];
  });
}

it.for<[what: string, steps: Step[], loops: number[]]>([
  ['one download', ['undionly.kpxe'], []],
  [
    'one download of each loader',
    ['undionly.kpxe', 'snponly.efi', 'ipxe.efi', 'arm64/snponly-arm64.efi', 'ipxe.pxe'],
    [],
  ],
  ['one that is loaded by another and gets on', ['undionly.kpxe', 'undionly.kpxe', MENU], []],
  [
    'the same loader again and again',
    ['undionly.kpxe', 'undionly.kpxe', 'undionly.kpxe', 'undionly.kpxe'],
    [2, 3],
  ],
  ['another loader first', ['undionly.kpxe', 'ipxe.pxe', 'ipxe.pxe', 'ipxe.pxe'], [3]],
  [
    'a machine that boots often, each time with a menu',
    Array.from({ length: 6 }, () => ['snponly.efi', MENU]).flat(),
    [],
  ],
  [
    'a loop after a boot that went well',
    ['snponly.efi', MENU, 'snponly.efi', 'snponly.efi', 'snponly.efi'],
    [4],
  ],
  [
    'a machine that is switched on again later',
    ['snponly.efi', 'snponly.efi', 121, 'snponly.efi', 121, 'snponly.efi'],
    [],
  ],
  [
    'several machines, one download each',
    ['10.0.0.1 snponly.efi', '10.0.0.2 snponly.efi', '10.0.0.3 snponly.efi'],
    [],
  ],
  [
    'a loader that is not iPXE, which DHCP does not send to itself',
    ['lpxelinux.0', 'lpxelinux.0', 'lpxelinux.0', 'shimx64.efi', 'grubx64.efi', 'shimx64.efi'],
    [],
  ],
])('%s', ([, steps, loops]) => {
  expect(loopsIn(steps)).toEqual(loops);
});

it('names the machine, the loader and the fix', () => {
  const loops = new LoaderLoops(() => 0);
  loops.sent('10.0.0.9', 'undionly.kpxe');
  loops.sent('10.0.0.9', 'undionly.kpxe');
  expect(loops.sent('10.0.0.9', 'undionly.kpxe')).toMatchObject({
    kind: 'boot.loader-loop',
    data: { client: '10.0.0.9', file: 'undionly.kpxe', fix: expect.stringContaining('option 175') },
  });
});
