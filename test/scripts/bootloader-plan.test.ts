import { describe, expect, it } from 'vitest';
import { formatManifest, parseManifest, stateOf } from '../../scripts/lib/bootloaders/manifest.mjs';
import { plan } from '../../scripts/lib/bootloaders/plan.mjs';
import {
  type Chosen,
  choose,
  type Item,
  type Supply,
  suffices,
} from '../../scripts/lib/bootloaders/supply.mjs';
import { GROUPS, type Group, LOADERS, NEEDED } from '../../scripts/lib/bootloaders/table.mjs';

const ENTRY = { file: 'a', sha256: 'new', package: 'p', version: '1', source: 'Debian x' };

describe('the table', () => {
  it('has each file once, and paths that fit below any root', () => {
    const files = LOADERS.map(({ file }) => file);
    expect(new Set(files).size).toBe(files.length);
    for (const path of LOADERS.flatMap(({ from }) => from)) expect(path).toMatch(/^(usr|boot)\//);
  });

  it('keeps BIOS and UEFI modules of the same name apart', () => {
    const files = LOADERS.map(({ file }) => file);
    for (const name of ['menu.c32', 'libutil.c32', 'libcom32.c32', 'chain.c32', 'vesamenu.c32']) {
      expect(files).toContain(name);
      expect(files).toContain(`efi64/${name}`);
    }
  });

  it('says what architecture each EFI program is for', () => {
    for (const { file, arch } of LOADERS) expect(arch !== undefined, file).toBe(file.endsWith('.efi'));
  });

  it('needs what the defaults need', () => {
    expect(NEEDED).toEqual(['snponly.efi', 'undionly.kpxe']);
  });
});

describe('the manifest', () => {
  it.each([
    ['nothing there', ENTRY, undefined, 'absent'],
    ['as it was put there', ENTRY, 'new', 'intact'],
    ['changed since', ENTRY, 'other', 'own'],
    ['not in the manifest', undefined, 'new', 'own'],
    ['an update was interrupted before this file', { ...ENTRY, before: 'old' }, 'old', 'behind'],
    ['an update was interrupted after this file', { ...ENTRY, before: 'old' }, 'new', 'intact'],
  ])('%s', (_, entry, hash, state) => {
    expect(stateOf(entry, hash)).toBe(state);
  });

  it('reads what it wrote', () => {
    const entries = new Map([['a', ENTRY]]);
    expect(parseManifest(formatManifest(entries))).toEqual(entries);
  });

  it.each([undefined, '', '{', '[]', '{"files":7}'])('takes nothing for its own when damaged: %j', (text) => {
    expect(parseManifest(text)).toEqual(new Map());
  });
});

const [a, b] = ['a', 'b'].map((file) => ({ file, why: '', from: [] }));
const group = (together: boolean): Group => ({
  name: 'g',
  packages: [],
  release: 'own',
  together,
  install: '',
  loaders: [a!, b!],
});
const item = (sha256: string): Item => ({ path: `/x/${sha256}`, sha256, package: 'p', version: '1' });
const supply = (source: string, files: Record<string, string>): Supply => ({
  source,
  items: new Map(Object.entries(files).map(([file, hash]) => [file, item(hash)])),
});
const sources = (chosen: Map<string, Chosen>) =>
  Object.fromEntries([...chosen].map(([file, { source }]) => [file, source]));

describe('where files are taken from', () => {
  const half = supply('half', { a: '1' });
  const other = supply('other', { b: '2' });
  const whole = supply('whole', { a: '3', b: '4' });

  it('file by file, where they stand alone', () => {
    expect(sources(choose(group(false), [half, whole]))).toEqual({ a: 'half', b: 'whole' });
    expect(suffices(group(false), [half, other])).toBe(true);
  });

  it('all from one place, where they work together', () => {
    expect(sources(choose(group(true), [half, other, whole]))).toEqual({ a: 'whole', b: 'whole' });
    expect(sources(choose(group(true), [half, other]))).toEqual({ a: 'half' });
    expect(suffices(group(true), [half, other])).toBe(false);
  });

  it('from nowhere', () => {
    expect(choose(group(true), []).size).toBe(0);
    expect(suffices(group(false), [])).toBe(false);
  });
});

describe('what is written', () => {
  type State = 'absent' | 'intact' | 'behind' | 'own';
  const planned = (
    together: boolean,
    states: [State, string | undefined][],
    files: Record<string, string>,
    fresh = false,
  ) => {
    const rows = [a!, b!].map((loader, index) => ({
      loader,
      state: states[index]![0],
      hash: states[index]![1],
    }));
    const chosen = choose(group(together), [
      { ...supply('s', files), ...(fresh && { fresh: true as const }) },
    ]);
    const { adopt, write } = plan(group(together), rows, chosen);
    const short = (entries: typeof write) =>
      entries.map(({ file, sha256, before }) => [file, sha256, before].filter(Boolean).join(' '));
    return { adopt: short(adopt), write: short(write) };
  };

  it('what is absent', () => {
    expect(
      planned(
        true,
        [
          ['absent', undefined],
          ['intact', '2'],
        ],
        { a: '1', b: '2' },
      ),
    ).toEqual({
      adopt: [],
      write: ['a 1'],
    });
  });

  it('never over a file of the user’s own', () => {
    const states: [State, string][] = [
      ['own', 'mine'],
      ['own', 'mine'],
    ];
    expect(planned(true, states, { a: '1', b: '2' }, true)).toEqual({ adopt: [], write: [] });
  });

  it('nothing over the very same file, but it is ours from now on', () => {
    expect(
      planned(
        true,
        [
          ['own', '1'],
          ['own', 'mine'],
        ],
        { a: '1', b: '2' },
      ),
    ).toEqual({
      adopt: ['a 1'],
      write: [],
    });
  });

  it('the whole set, where files work together', () => {
    expect(
      planned(
        true,
        [
          ['absent', undefined],
          ['intact', 'old'],
        ],
        { a: '1', b: '2' },
      ),
    ).toEqual({
      adopt: [],
      write: ['a 1', 'b 2 old'],
    });
  });

  it('nothing, rather than half a set', () => {
    expect(
      planned(
        true,
        [
          ['absent', undefined],
          ['intact', 'old'],
        ],
        { a: '1' },
      ),
    ).toEqual({
      adopt: [],
      write: [],
    });
  });

  it('nothing older over what stands alone', () => {
    const states: [State, string | undefined][] = [
      ['absent', undefined],
      ['intact', 'newer'],
    ];
    expect(planned(false, states, { a: '1', b: '2' }).write).toEqual(['a 1']);
    expect(planned(false, states, { a: '1', b: '2' }, true).write).toEqual(['a 1', 'b 2 newer']);
  });

  it('what an interrupted update has left behind', () => {
    const states: [State, string | undefined][] = [
      ['behind', 'old'],
      ['intact', '2'],
    ];
    expect(planned(true, states, { a: '1', b: '2' }).write).toEqual(['a 1 old']);
  });
});

it('every group can be had from Debian', () => {
  for (const { packages, loaders } of GROUPS) {
    expect(packages.length).toBeGreaterThan(0);
    expect(loaders.length).toBeGreaterThan(0);
  }
});
