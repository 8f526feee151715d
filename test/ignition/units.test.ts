import { expect, it } from 'vitest';
import { toBuffer } from '../../server/ignition/sheet.ts';
import { lab } from '../inventory/make.ts';
import { rendererFor } from './make.ts';

interface Unit {
  name: string;
  contents?: string;
  dropins?: { contents: string }[];
}

/** The values of a setting in a unit and its drop-ins, word by word. */
function wordsOf(unit: Unit | undefined, setting: string): string[] {
  const texts = [unit?.contents ?? '', ...(unit?.dropins ?? []).map(({ contents }) => contents)];
  const lines = texts.join('\n').matchAll(new RegExp(`^${setting}=(.*)$`, 'gm'));
  return [...lines].flatMap(([, value = '']) => value.split(' '));
}

// systemd gives up what requires a unit that has failed, and does not begin with it again when the next try succeeds.
it('a unit that others require does not fail between two tries', async () => {
  const { renderer, host } = await rendererFor(
    lab('{name: n2, pool: workers, macs: [52:54:00:12:34:02], disk: /dev/vda}'),
  );
  const preview = await renderer.preview(host('n2'), 'system');
  if ('problems' in preview) throw new Error('it is not rendered');
  const { units } = JSON.parse(toBuffer(preview).toString()).systemd as { units: Unit[] };
  const required = new Set(units.flatMap((unit) => wordsOf(unit, 'Requires')));
  const triedAgain = units.filter(
    (unit) => required.has(unit.name) && wordsOf(unit, 'Restart').includes('on-failure'),
  );
  expect(triedAgain.map((unit) => unit.name).toSorted()).toEqual([
    'railhead-booted.service',
    'railhead-register.service',
    'railhead-sysext.service',
  ]);
  for (const unit of triedAgain) {
    expect(wordsOf(unit, 'RestartMode'), unit.name).toEqual(['direct']);
    // Which would never happen.
    expect(wordsOf(unit, 'OnFailure'), unit.name).toEqual([]);
  }
});
