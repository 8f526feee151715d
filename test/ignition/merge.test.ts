import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeIgnition, mergeIgnitionConfigs } from '../../server/ignition/merge.ts';
import type { IgnitionConfig } from '../../server/ignition/spec/schema.ts';
import { validateIgnition } from '../../server/ignition/validate.ts';
import { goodConfig } from './generate.ts';

type Sections = Omit<IgnitionConfig, 'ignition'>;
const ignition = { version: '3.3.0' };

const CASES: { what: string; parent: Sections; child: Sections; gives: Sections }[] = [
  {
    what: "the child's values win, and what it doesn't say stays",
    parent: { storage: { files: [{ path: '/a', mode: 420, contents: { source: 'data:,1' } }] } },
    child: { storage: { files: [{ path: '/a', contents: { source: 'data:,2' } }] } },
    gives: { storage: { files: [{ path: '/a', mode: 420, contents: { source: 'data:,2' } }] } },
  },
  {
    what: 'entries keep the order of the parent; new ones follow',
    parent: { storage: { files: [{ path: '/a' }, { path: '/b' }] } },
    child: { storage: { files: [{ path: '/c' }, { path: '/b', mode: 1 }] } },
    gives: { storage: { files: [{ path: '/a' }, { path: '/b', mode: 1 }, { path: '/c' }] } },
  },
  {
    what: 'a directory takes the place of a file',
    parent: { storage: { files: [{ path: '/a' }, { path: '/b' }] } },
    child: { storage: { directories: [{ path: '/a' }] } },
    gives: { storage: { directories: [{ path: '/a' }], files: [{ path: '/b' }] } },
  },
  {
    what: 'what is appended to a file adds up',
    parent: { storage: { files: [{ path: '/a', append: [{ source: 'data:,x' }] }] } },
    child: { storage: { files: [{ path: '/a', append: [{ source: 'data:,x' }] }] } },
    gives: { storage: { files: [{ path: '/a', append: [{ source: 'data:,x' }, { source: 'data:,x' }] }] } },
  },
  {
    what: 'SSH keys and groups are joined without doubles',
    parent: { passwd: { users: [{ name: 'core', sshAuthorizedKeys: ['a', 'b'], groups: ['x'] }] } },
    child: { passwd: { users: [{ name: 'core', sshAuthorizedKeys: ['b', 'c'], shell: '/bin/sh' }] } },
    gives: {
      passwd: {
        users: [{ name: 'core', sshAuthorizedKeys: ['a', 'b', 'c'], groups: ['x'], shell: '/bin/sh' }],
      },
    },
  },
  {
    what: 'drop-ins are merged by name within their unit',
    parent: {
      systemd: {
        units: [{ name: 'a.service', enabled: true, dropins: [{ name: 'x.conf', contents: '1' }] }],
      },
    },
    child: {
      systemd: {
        units: [
          {
            name: 'a.service',
            dropins: [
              { name: 'x.conf', contents: '2' },
              { name: 'y.conf', contents: '3' },
            ],
          },
        ],
      },
    },
    gives: {
      systemd: {
        units: [
          {
            name: 'a.service',
            enabled: true,
            dropins: [
              { name: 'x.conf', contents: '2' },
              { name: 'y.conf', contents: '3' },
            ],
          },
        ],
      },
    },
  },
  {
    what: 'partitions are the same by number, else by label',
    parent: {
      storage: { disks: [{ device: '/d', partitions: [{ number: 1, label: 'a' }, { label: 'b' }] }] },
    },
    child: {
      storage: {
        disks: [
          {
            device: '/d',
            partitions: [
              { number: 1, label: 'z' },
              { label: 'b', sizeMiB: 5 },
            ],
          },
        ],
      },
    },
    gives: {
      storage: {
        disks: [
          {
            device: '/d',
            partitions: [
              { number: 1, label: 'z' },
              { label: 'b', sizeMiB: 5 },
            ],
          },
        ],
      },
    },
  },
  {
    what: 'file systems are the same by device; their options add up',
    parent: { storage: { filesystems: [{ device: '/d', format: 'ext4', path: '/m', options: ['a'] }] } },
    child: { storage: { filesystems: [{ device: '/d', path: '/n', options: ['a'] }] } },
    gives: { storage: { filesystems: [{ device: '/d', format: 'ext4', path: '/n', options: ['a', 'a'] }] } },
  },
  {
    what: 'a kernel argument changes sides',
    parent: { kernelArguments: { shouldExist: ['a', 'b'] } },
    child: { kernelArguments: { shouldNotExist: ['a'] } },
    gives: { kernelArguments: { shouldExist: ['b'], shouldNotExist: ['a'] } },
  },
  {
    what: 'a header without value takes one away',
    parent: {
      storage: {
        files: [
          {
            path: '/a',
            contents: {
              source: 'http://x',
              httpHeaders: [
                { name: 'A', value: '1' },
                { name: 'B', value: '2' },
              ],
            },
          },
        ],
      },
    },
    child: { storage: { files: [{ path: '/a', contents: { httpHeaders: [{ name: 'A' }] } }] } },
    gives: {
      storage: {
        files: [{ path: '/a', contents: { source: 'http://x', httpHeaders: [{ name: 'B', value: '2' }] } }],
      },
    },
  },
  {
    what: 'false and empty text are values, too',
    parent: { storage: { files: [{ path: '/a', overwrite: true, contents: { source: 'data:,x' } }] } },
    child: { storage: { files: [{ path: '/a', overwrite: false, contents: { source: '' } }] } },
    gives: { storage: { files: [{ path: '/a', overwrite: false, contents: { source: '' } }] } },
  },
];

it.each(CASES)('merges: $what', ({ parent, child, gives }) => {
  expect(mergeIgnition({ ignition, ...parent }, { ignition, ...child })).toEqual({ ignition, ...gives });
});

describe('versions', () => {
  it('become the newer one', () => {
    const older = { ignition: { version: '3.0.0' } };
    expect(mergeIgnition(older, { ignition }).ignition.version).toBe('3.3.0');
    expect(mergeIgnition({ ignition }, older).ignition.version).toBe('3.3.0');
  });

  it('bring no field to life that the older one ignored', () => {
    const older = { ignition: { version: '3.0.0' }, kernelArguments: { shouldExist: ['a'] } };
    expect(mergeIgnition(older, { ignition })).toEqual({ ignition });
  });
});

it('merges many, the last of which wins', () => {
  const file = (mode: number): IgnitionConfig => ({ ignition, storage: { files: [{ path: '/a', mode }] } });
  expect(mergeIgnitionConfigs(file(1), file(2), file(3))).toEqual(file(3));
  expect(mergeIgnitionConfigs(file(1))).toEqual(file(1));
});

it('leaves its arguments alone', () => {
  fc.assert(
    fc.property(goodConfig, goodConfig, (parent, child) => {
      const before = structuredClone([parent, child]);
      mergeIgnition(parent, child);
      expect([parent, child]).toEqual(before);
    }),
  );
});

describe('properties', () => {
  /** As a config of the newest version, without what says nothing. */
  const plain = (config: IgnitionConfig): unknown => {
    const newest: IgnitionConfig = { ignition: { version: '3.4.0' } };
    return withoutEmpty(mergeIgnition(config, newest));
  };

  it('an empty config changes nothing, on either side', () => {
    fc.assert(
      fc.property(goodConfig, (config) => {
        const empty: IgnitionConfig = { ignition: { version: config.ignition.version } };
        expect(plain(mergeIgnition(empty, config))).toEqual(plain(config));
        expect(plain(mergeIgnition(config, empty))).toEqual(plain(config));
      }),
    );
  });

  it('a config merged with itself is itself, but for what adds up and headers that are taken away', () => {
    const addsUp = /"(append|options|mountOptions|httpHeaders)":/;
    const config = goodConfig.map((good) => {
      const text = JSON.stringify(good, (key, value: unknown) =>
        addsUp.test(`"${key}":`) ? undefined : value,
      );
      return JSON.parse(text) as IgnitionConfig;
    });
    fc.assert(
      fc.property(config, (good) => {
        expect(plain(mergeIgnition(good, good))).toEqual(plain(good));
      }),
    );
  });

  it('the child of a child is merged once only, but for what adds up', () => {
    fc.assert(
      fc.property(goodConfig, goodConfig, (parent, child) => {
        const paths = (config: IgnitionConfig): string[] => {
          const { files = [], directories = [], links = [] } = config.storage ?? {};
          return [...files, ...directories, ...links].map(({ path }) => path).toSorted();
        };
        const once = mergeIgnition(parent, child);
        expect(paths(mergeIgnition(once, child))).toEqual(paths(once));
        expect(paths(once)).toEqual([...new Set([...paths(parent), ...paths(child)])].toSorted());
      }),
    );
  });

  it('two good configs never give one with duplicates', () => {
    fc.assert(
      fc.property(goodConfig, goodConfig, (parent, child) => {
        const duplicates = validateIgnition(mergeIgnition(parent, child)).filter(({ message }) =>
          message.includes('keep only one of them'),
        );
        expect(duplicates).toEqual([]);
      }),
    );
  });
});

function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value)
    .map(([key, inner]) => [key, withoutEmpty(inner)] as const)
    .filter(([, inner]) => typeof inner !== 'object' || inner === null || Object.keys(inner).length > 0);
  return Object.fromEntries(entries);
}
