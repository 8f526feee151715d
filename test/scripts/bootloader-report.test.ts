import { describe, expect, it } from 'vitest';
import type { Row } from '../../scripts/lib/bootloaders/fill.mjs';
import type { State } from '../../scripts/lib/bootloaders/manifest.mjs';
import {
  formatKept,
  formatMissing,
  formatTable,
  lacksNeeded,
  sayOnce,
} from '../../scripts/lib/bootloaders/report.mjs';
import { GROUPS } from '../../scripts/lib/bootloaders/table.mjs';

/** All of them, as if from one Debian; the given ones in another state. */
function rows(states: Record<string, State> = {}, reason?: string): Row[] {
  return GROUPS.flatMap((group) =>
    group.loaders.map((loader) => {
      const state = states[loader.file] ?? 'intact';
      const entry =
        state === 'absent' || loader.file in states
          ? undefined
          : { file: loader.file, sha256: 'x', package: group.name, version: '1', source: 'Debian 13' };
      return { loader, group, state, hash: 'x', entry, written: false, reason };
    }),
  );
}

describe('the table', () => {
  it('has a line for each file, and one for a dozen modules', () => {
    const lines = formatTable(rows());
    expect(lines[0]).toMatch(/^FILE +VERSION +FROM$/);
    expect(lines).toHaveLength(20);
    expect(lines.find((line) => line.startsWith('lpxelinux.0 '))).toMatch(/ 1 +syslinux \(Debian 13\)$/);
    expect(lines.filter((line) => line.includes('.c32')).map((line) => line.split('  ')[0])).toEqual([
      'ldlinux.c32',
      '*.c32 (15 modules)',
      'efi64/*.c32 (13 modules)',
    ]);
  });

  it('shows a module by itself when it is not like the others', () => {
    expect(formatTable(rows({ 'menu.c32': 'own' })).join('\n')).toMatch(/^menu\.c32 +– +yours$/m);
  });

  it('is empty when nothing is there', () => {
    expect(formatTable(rows().map((row) => ({ ...row, state: 'absent' })))).toEqual([]);
  });
});

describe('the lines about files that were left alone', () => {
  it('say why, and how to have them replaced', () => {
    const [line, ...more] = formatKept(rows({ 'snponly.efi': 'own' }), '/boot');
    expect(more).toEqual([]);
    expect(line).toMatch(/^KEPT: \/boot\/snponly\.efi was not put there by this command.*delete it and run/);
    expect(line).not.toContain('same version');
  });

  it('warn of mixed versions', () => {
    expect(formatKept(rows({ 'lpxelinux.0': 'own' }), '/boot')[0]).toContain('same version');
  });

  it('tell a changed one from a foreign one', () => {
    const changed = rows().map(
      (row) => ({ ...row, state: row.loader.file === 'ipxe.efi' ? 'own' : row.state }) as Row,
    );
    expect(formatKept(changed, '/boot')[0]).toContain('was changed since');
  });
});

describe('the lines about what is missing', () => {
  it('are one for each project, with the reason and what to do', () => {
    const lines = formatMissing(
      rows(
        { 'snponly-arm64.efi': 'absent', 'lpxelinux.0': 'absent', 'menu.c32': 'absent', 'hdt.c32': 'absent' },
        'offline',
      ),
      '/boot',
    );
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^MISSING: lpxelinux\.0, 2 modules: offline\. What to do: install/);
    expect(lines[1]).toMatch(/^MISSING: snponly-arm64\.efi \(UEFI arm64 machines start with it\): offline\./);
  });

  it.each([
    ['undionly.kpxe', true],
    ['ldlinux.c32', false],
    ['snponly.efi', true],
    ['snponly-arm64.efi', false],
    ['menu.c32', false],
  ])('%s missing is a failure: %s', (file, failure) => {
    expect(lacksNeeded(rows({ [file]: 'absent' }))).toBe(failure);
    expect(lacksNeeded(rows({ [file]: 'own' }))).toBe(false);
  });
});

it('says the same reason once', () => {
  expect(sayOnce(['Debian testing: no answer', 'Debian stable: no answer', 'mine: E: gone', 'just so'])).toBe(
    'Debian testing, Debian stable: no answer; mine: E: gone; just so',
  );
});
