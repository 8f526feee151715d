import fc from 'fast-check';
import { dump } from 'js-yaml';
import { expect, it } from 'vitest';
import { formatProblem, isError } from '../../server/document/problem.ts';
import { diffInventories } from '../../server/inventory/diff.ts';
import { type Loaded, loadInventory } from '../../server/inventory/load.ts';
import { makeRevision, openRevision } from '../../server/inventory/revision.ts';

/** Valid inventories of every shape, dumped as YAML, split over files and shuffled. */

const SECTIONS = ['clusters', 'profiles', 'pools', 'hosts'] as const;
type Section = (typeof SECTIONS)[number];
type Item = Record<string, unknown> & { name: string };
type Items = Record<Section, Item[]>;

const name = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,6}[a-z0-9])?$/);
const names = (minLength: number, maxLength: number) => fc.uniqueArray(name, { minLength, maxLength });
const optional = <T>(values: Record<string, fc.Arbitrary<T>>) => fc.record(values, { requiredKeys: [] });

const scalar = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.boolean(),
  fc.integer(),
  fc.constant(null),
  // What YAML could take for something else.
  fc.constantFrom(
    '1.30',
    '0042',
    '1e3',
    'yes',
    '~',
    'null',
    '- x',
    'a: b',
    '#',
    '*a',
    '&a',
    '!a',
    '',
    ' ',
    '<<',
    '\n',
    'ü😀',
  ),
);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 2 },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.oneof(name, fc.constantFrom('__proto__', '1', '1.0', '~', '<<', 'a.b')), tie('value'), {
      maxKeys: 3,
    }),
  ),
}));
const variables = fc.dictionary(name, value, { maxKeys: 3 });
const argument = fc.stringMatching(/^[\x21-\x7e]{1,10}$/);
const layered = {
  variables,
  kernelArguments: fc.array(argument, { maxLength: 3 }),
  snippets: fc.array(fc.string({ minLength: 1, maxLength: 8 }), { maxLength: 2 }),
};
const rollout = optional<unknown>({
  strategy: fc.constantFrom('PreferInPlace', 'InPlaceOnly', 'Reprovision', 'OnDelete'),
  maxUnavailable: fc.oneof(fc.nat(9), fc.constantFrom('0%', '25%', '100%')),
  maxFailures: fc.integer({ min: 1, max: 9 }),
  paused: fc.boolean(),
});
const labelValue = fc.stringMatching(/^([A-Za-z0-9]([-A-Za-z0-9_.]{0,6}[A-Za-z0-9])?)?$/);

const cluster = optional<unknown>({
  containerd: fc.constantFrom('1.7.28', 'v2.1.5', '2.2.0'),
  endpoint: fc.constantFrom('10.0.0.10:6443', 'lab.example.org', '[fd02::10]:6443'),
  addons: fc.uniqueArray(fc.record({ name, values: variables }, { requiredKeys: ['name'] }), {
    maxLength: 2,
    selector: (addon) => addon.name,
  }),
  rollout,
  ...layered,
});
const profile = optional<unknown>({
  channel: fc.constantFrom('stable', 'beta', 'alpha', 'lts'),
  version: fc.constantFrom('current', '4593.2.5'),
  arch: fc.constantFrom('amd64', 'arm64'),
  ...layered,
});
const pool = optional<unknown>({
  replicas: fc.nat(5),
  labels: fc.dictionary(name, labelValue, { maxKeys: 3 }),
  taints: fc.array(
    fc.record(
      {
        key: fc.string({ minLength: 1, maxLength: 8 }),
        value: labelValue,
        effect: fc.constantFrom('NoSchedule', 'NoExecute'),
      },
      { requiredKeys: ['key', 'effect'] },
    ),
    { maxLength: 2 },
  ),
  rollout,
  updatesDisabled: fc.boolean(),
  ...layered,
});
const host = optional<unknown>({
  disk: fc.oneof(
    fc.constant('/dev/disk/by-id/x'),
    fc.record({ minSizeGB: fc.integer({ min: 1, max: 100 }), serial: fc.constant('0042') }),
  ),
  localBoot: fc.constantFrom('auto', 'exit', 'sanboot', 'localboot'),
  bmc: fc.record({
    address: fc.constant('10.0.1.1'),
    password: fc.constantFrom({ fromEnv: 'BMC' }, { fromFile: 'bmc' }),
  }),
  ...layered,
});

/** A MAC address, UUID, serial number and IP address of its own for each host, in one of their spellings. */
function identity(index: number, style: number): Record<string, unknown> {
  const hex = index.toString(16).padStart(4, '0');
  const mac = [
    `52:54:00:00:${hex.slice(0, 2)}:${hex.slice(2)}`,
    `5254.0000.${hex}`,
    `52-54-00-00-${hex.slice(0, 2).toUpperCase()}-${hex.slice(2)}`,
  ];
  const uuid = `4c4c4544-0042-3510-8052-b4c04f38${hex}`;
  return [
    { macs: [mac[index % 3]] },
    { uuid: index % 2 === 0 ? uuid : uuid.toUpperCase() },
    { serial: String(index).padStart(4, '0') },
    { macs: [mac[(index + 1) % 3]], ip: index % 2 === 0 ? `192.168.0.${index}` : `FD02:0::${hex}` },
  ][style]!;
}

const inventories: fc.Arbitrary<Items> = fc
  .record({ clusters: names(0, 2), profiles: names(1, 3), pools: names(1, 4), hosts: names(0, 12) })
  .chain(({ clusters, profiles, pools, hosts }) => {
    const each = <T>(list: string[], make: (itemName: string, index: number) => fc.Arbitrary<T>) =>
      fc.tuple(...list.map(make));
    const inCluster =
      clusters.length === 0
        ? fc.constant({})
        : fc.oneof(fc.constant({}), fc.record({ cluster: fc.constantFrom(...clusters) }));
    return fc.record({
      clusters: each(clusters, (itemName) =>
        cluster.map((rest) => ({
          name: itemName,
          kubernetes: '1.36.4',
          ...rest,
          endpoint: 'lab.example.org',
        })),
      ),
      profiles: each(profiles, (itemName) =>
        profile.map((rest) => ({ name: itemName, os: 'flatcar', ...rest })),
      ),
      pools: each(pools, (itemName) =>
        fc
          .tuple(pool, inCluster, fc.constantFrom(...profiles), fc.constantFrom('worker', 'control-plane'))
          .map(([rest, where, ofProfile, role]) => ({
            name: itemName,
            profile: ofProfile,
            ...('cluster' in where ? { role } : {}),
            ...where,
            ...rest,
          })),
      ),
      hosts: each(hosts, (itemName, index) =>
        fc.tuple(host, fc.constantFrom(...pools), fc.nat(3)).map(([rest, inPool, style]) => ({
          name: itemName,
          pool: inPool,
          ...identity(index + 1, style),
          ...rest,
        })),
      ),
    }) as fc.Arbitrary<Items>;
  });

function loadItems(files: readonly Partial<Items>[], flowLevel: number): Loaded {
  return loadInventory({
    files: files.map((items, index) => ({ name: `${index}.yaml`, text: dump(items, { flowLevel }) })),
    problems: [],
  });
}

/** Every item in one of `count` files, in an order of its own. */
function scatter(items: Items, count: number, seed: number): Partial<Items>[] {
  const files: Partial<Items>[] = Array.from({ length: count }, () => ({}));
  let state = seed;
  const next = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state % below;
  };
  for (const section of SECTIONS.toReversed()) {
    for (const item of items[section]) {
      const file = files[next(count)]!;
      const list = file[section] ?? [];
      file[section] = list;
      list.splice(next(list.length + 1), 0, item);
    }
  }
  return files;
}

it('takes every valid inventory, however it is split over files and ordered, and makes one revision of it', () => {
  fc.assert(
    fc.property(
      inventories,
      fc.integer({ min: 1, max: 4 }),
      fc.nat(1_000_000),
      fc.constantFrom(-1, 0, 2),
      (items, count, seed, flowLevel) => {
        const whole = loadItems([items], -1);
        expect(whole.problems.filter(isError).map(formatProblem)).toEqual([]);
        const split = loadItems(scatter(items, count, seed), flowLevel);
        expect(split.problems.filter(isError).map(formatProblem)).toEqual([]);
        const revision = makeRevision(whole.inventory!);
        expect(makeRevision(split.inventory!).hash).toBe(revision.hash);
        expect(openRevision(revision.document)).toEqual(whole.inventory);
        expect(diffInventories(openRevision(revision.document), split.inventory!)).toEqual([]);
        expect(whole.inventory!.hosts.map((one) => one.name).toSorted()).toEqual(
          items.hosts.map((one) => one.name).toSorted(),
        );
      },
    ),
    { numRuns: 60 },
  );
});

it('never throws, whatever is in the files, and every problem has a place in them', () => {
  const anything = fc.oneof(
    fc.string({ maxLength: 200 }),
    fc.string({ maxLength: 200, unit: 'binary' }),
    fc
      .array(
        fc.constantFrom(
          'hosts:',
          ' ',
          '\n',
          '- ',
          'name: ',
          'n1',
          '[',
          ']',
          '{',
          '}',
          ',',
          '"',
          "'",
          '&a',
          '*a',
          '<<: ',
          '|\n',
          '#',
          '\t',
          '---\n',
          'macs: ',
          'pools:',
        ),
        { maxLength: 40 },
      )
      .map((parts) => parts.join('')),
    fc.anything({ maxDepth: 4 }).map((thing) => {
      try {
        return dump({ hosts: [thing], pools: thing });
      } catch {
        return '';
      }
    }),
  );
  fc.assert(
    fc.property(anything, (text) => {
      const { inventory, problems } = loadInventory({ files: [{ name: 'f', text }], problems: [] });
      expect(inventory === undefined).toBe(problems.some(isError));
      const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/);
      for (const { line, col, message } of problems) {
        expect(line).toBeGreaterThanOrEqual(1);
        expect(line).toBeLessThanOrEqual(lines.length);
        expect(col).toBeGreaterThanOrEqual(1);
        expect(col).toBeLessThanOrEqual(lines[line - 1]!.length + 1);
        expect(message).not.toMatch(/undefined|\[object|\n/);
      }
    }),
    { numRuns: 150 },
  );
});
