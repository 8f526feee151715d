import { expect, it } from 'vitest';
import type { Purpose } from '../../server/ignition/delivery.ts';
import { toBuffer } from '../../server/ignition/sheet.ts';
import { lab } from '../inventory/make.ts';
import { rendererFor } from './make.ts';

const HOSTS = '{name: n2, pool: workers, macs: [52:54:00:12:34:02], disk: /dev/vda}';

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

async function unitsOf(host: string, purpose: Purpose = 'system'): Promise<Map<string, Unit>> {
  const { renderer, host: hostOf } = await rendererFor(lab(HOSTS));
  const preview = await renderer.preview(hostOf(host), purpose);
  if ('problems' in preview) throw new Error('it is not rendered');
  const { units } = JSON.parse(toBuffer(preview).toString()).systemd as { units: Unit[] };
  return new Map(units.map((unit) => [unit.name, unit]));
}

// systemd gives up what requires a unit that has failed, and does not begin with it again when the next try succeeds.
it('a unit that others require does not fail between two tries', async () => {
  const units = [...(await unitsOf('n2')).values()];
  const required = new Set(units.flatMap((unit) => wordsOf(unit, 'Requires')));
  const triedAgain = units.filter(
    (unit) => required.has(unit.name) && wordsOf(unit, 'Restart').includes('on-failure'),
  );
  expect(triedAgain.map((unit) => unit.name).toSorted()).toEqual([
    'railhead-booted.service',
    'railhead-data.service',
    'railhead-register.service',
    'railhead-sysext.service',
  ]);
  for (const unit of triedAgain) {
    expect(wordsOf(unit, 'RestartMode'), unit.name).toEqual(['direct']);
    // Which would never happen.
    expect(wordsOf(unit, 'OnFailure'), unit.name).toEqual([]);
  }
});

it('the data partition is mounted before the host registers, and used only after that', async () => {
  const units = await unitsOf('n2');
  const after = (name: string): string[] => wordsOf(units.get(name), 'After');
  expect(wordsOf(units.get('railhead-register.service'), 'Requires')).toContain('railhead-mount.service');
  expect(after('railhead-register.service')).toContain('railhead-mount.service');
  expect(after('railhead-data.service')).toContain('railhead-register.service');
  // Registering again stops nothing that runs.
  expect(wordsOf(units.get('railhead-data.service'), 'Requires')).toEqual(['railhead-mount.service']);
  for (const name of ['containerd', 'kubelet', 'railhead-kubeadm'].map((unit) => `${unit}.service`)) {
    expect(wordsOf(units.get(name), 'Requires'), name).toContain('railhead-data.service');
    expect(after(name), name).toContain('railhead-data.service');
  }
  expect(wordsOf(units.get('kubelet.service'), 'AssertPathExists')).toEqual(['/run/railhead/identity']);
});

// Services are after basic.target, and that is after all sockets: systemd would drop jobs until nothing is circular.
it('no service is ordered before a socket', async () => {
  for (const unit of (await unitsOf('n2')).values()) {
    expect(
      wordsOf(unit, 'Before').filter((name) => name.endsWith('.socket')),
      unit.name,
    ).toEqual([]);
  }
});

it('every host sends heartbeats, an installer does not', async () => {
  expect([...(await unitsOf('n2')).keys()]).toContain('railhead-agent.service');
  expect([...(await unitsOf('n2', 'installer')).keys()]).not.toContain('railhead-agent.service');
});
