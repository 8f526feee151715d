import fc from 'fast-check';
import type { IgnitionConfig } from '../../server/ignition/spec/schema.ts';

const VERSIONS = ['3.0.0', '3.1.0', '3.2.0', '3.3.0', '3.4.0'];
const NAMES = ['a', 'b', 'c', 'd'];
const HASH = `sha512-${'0'.repeat(128)}`;
const GUID = '01234567-89AB-CDEF-EDCB-A98765432101';

/** Few names, so that configs have much in common. */
const name = fc.constantFrom(...NAMES);
const maybe = { requiredKeys: [] as [] };
const unique = <T>(entry: fc.Arbitrary<T>, key: (entry: T) => unknown) =>
  fc.uniqueArray(entry, { selector: key, maxLength: 4 });
const texts = fc.uniqueArray(name, { maxLength: 3 });

const owner = fc.oneof(fc.record({ id: fc.nat(5) }), fc.record({ name }), fc.constant({}));
const header = fc.record({ name, value: name }, { requiredKeys: ['name'] });
const source = name.map((text) => `https://example.com/${text}`);
const resource = fc.record(
  {
    source,
    compression: fc.constantFrom('', 'gzip'),
    httpHeaders: unique(header, (entry) => entry.name),
    verification: fc.constantFrom({}, { hash: HASH }),
  },
  { requiredKeys: ['source'] },
);
const mode = fc.constantFrom(0, 420, 493, 4095);
const common = { user: owner, group: owner };

/** Two levels of paths that never lead through a link: those have a name of their own. */
const nodes = fc
  .record({
    kinds: fc.dictionary(
      fc.constantFrom('/a', '/b', '/c', '/d/e', '/d/f'),
      fc.constantFrom('file', 'dir', 'link'),
    ),
    file: fc.record(
      { ...common, mode, contents: resource, append: fc.array(resource, { maxLength: 2 }) },
      maybe,
    ),
    directory: fc.record({ ...common, mode, overwrite: fc.boolean() }, maybe),
    link: fc.record({ ...common, hard: fc.constant(false), target: name }, { requiredKeys: ['target'] }),
  })
  .map(({ kinds, file, directory, link }) => {
    const paths = (kind: string) => Object.keys(kinds).filter((path) => kinds[path] === kind);
    return {
      files: paths('file').map((path) => ({ ...file, path })),
      directories: paths('dir').map((path) => ({ ...directory, path })),
      links: paths('link').map((path) => ({ ...link, path })),
    };
  });

const partition = fc.record(
  {
    number: fc.integer({ min: 1, max: 5 }),
    label: name,
    guid: fc.constantFrom('', GUID),
    sizeMiB: fc.constantFrom(0, 10),
    wipePartitionEntry: fc.boolean(),
  },
  { requiredKeys: ['number'] },
);
const device = name.map((text) => `/dev/${text}`);
const disk = fc.record(
  {
    device,
    wipeTable: fc.boolean(),
    partitions: unique(partition, (entry) => entry.number).filter((partitions) => {
      const labels = partitions.flatMap(({ label }) => label ?? []);
      return new Set(labels).size === labels.length;
    }),
  },
  { requiredKeys: ['device'] },
);
const filesystem = fc.record(
  {
    device,
    format: fc.constantFrom('ext4', 'xfs'),
    path: name.map((text) => `/mnt/${text}`),
    label: name,
    options: fc.array(name, { maxLength: 3 }),
    mountOptions: fc.array(name, { maxLength: 3 }),
  },
  { requiredKeys: ['device', 'format'] },
);
const raid = fc.record(
  {
    name,
    level: fc.constantFrom('raid1', 'raid5'),
    devices: fc.uniqueArray(device, { minLength: 1, maxLength: 3 }),
    options: fc.array(name, { maxLength: 3 }),
    spares: fc.nat(2),
  },
  { requiredKeys: ['name', 'level', 'devices'] },
);
const tang = fc.record({ url: source, thumbprint: name });
const luks = fc.record(
  {
    name,
    device,
    keyFile: resource,
    options: fc.array(name, { maxLength: 3 }),
    openOptions: texts,
    discard: fc.boolean(),
    clevis: fc.record(
      { tang: unique(tang, ({ url }) => url), tpm2: fc.boolean(), threshold: fc.nat(2) },
      maybe,
    ),
  },
  { requiredKeys: ['name', 'device'] },
);
const contents = fc.constantFrom('', '[Unit]\nDescription=x\n', '[Service]\nType=oneshot\n');
const dropin = fc.record({ name: name.map((text) => `${text}.conf`), contents }, { requiredKeys: ['name'] });
const unit = fc.record(
  {
    name: name.map((text) => `${text}.service`),
    contents,
    enabled: fc.boolean(),
    mask: fc.boolean(),
    dropins: unique(dropin, (entry) => entry.name),
  },
  { requiredKeys: ['name'] },
);
const user = fc.record(
  { name, uid: fc.nat(5), groups: texts, sshAuthorizedKeys: texts, shell: name, shouldExist: fc.boolean() },
  { requiredKeys: ['name'] },
);
const kernelArguments = fc.uniqueArray(name).map((all) => ({
  shouldExist: all.filter((_, index) => index % 2 === 0),
  shouldNotExist: all.filter((_, index) => index % 2 === 1),
}));

/** Configs that Ignition accepts. */
export const goodConfig: fc.Arbitrary<IgnitionConfig> = fc
  .record(
    {
      version: fc.constantFrom(...VERSIONS),
      ignition: fc.record(
        {
          config: fc.record({ merge: unique(resource, (entry) => entry.source), replace: resource }, maybe),
          timeouts: fc.record({ httpTotal: fc.nat(9), httpResponseHeaders: fc.nat(9) }, maybe),
          proxy: fc.record({ httpProxy: source, noProxy: texts }, maybe),
          security: fc.record({
            tls: fc.record({ certificateAuthorities: unique(resource, (entry) => entry.source) }),
          }),
        },
        maybe,
      ),
      kernelArguments,
      passwd: fc.record({ users: unique(user, (entry) => entry.name) }),
      nodes,
      disks: unique(disk, (entry) => entry.device),
      filesystems: unique(filesystem, (entry) => entry.device),
      raid: unique(raid, (entry) => entry.name),
      luks: unique(luks, (entry) => entry.name),
      systemd: fc.record({ units: unique(unit, (entry) => entry.name) }),
    },
    { requiredKeys: ['version', 'ignition'] },
  )
  .map(({ version, ignition, nodes, disks, filesystems, raid, luks, ...rest }) => {
    const storage = { ...nodes, disks, filesystems, raid, luks };
    const given = Object.fromEntries(Object.entries(storage).filter(([, list]) => list !== undefined));
    return { ...rest, ignition: { ...ignition, version }, storage: given } as IgnitionConfig;
  });

/** What may be put anywhere into a config to see what happens. */
const oddity = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    '',
    'x',
    '/a',
    '/a/',
    'a',
    -1,
    0,
    1.5,
    99999,
    true,
    [],
    {},
    [null],
    [{}],
    ['a', 'a'],
  ),
  fc.constantFrom<unknown>(
    'data:,%',
    'data:;base64,QQ',
    'gs://a',
    'http://a b',
    'sha256-0',
    '[Unit',
    '.conf',
    ':',
  ),
);

/** Good configs in which one value was replaced, doubled or taken away: some are still good. */
export const damagedConfig: fc.Arbitrary<unknown> = fc
  .tuple(goodConfig, fc.nat(1000), fc.constantFrom('replace', 'double', 'remove'), oddity)
  .map(([config, seed, how, value]) => {
    const copy = structuredClone(config) as unknown as Record<string, unknown>;
    const places = placesIn(copy);
    const { holder, key } = places[seed % places.length]!;
    if (Array.isArray(holder)) {
      const index = Number(key);
      if (how === 'double') holder.push(structuredClone(holder[index]));
      else if (how === 'remove') holder.splice(index, 1);
      else holder[index] = value;
    } else if (how === 'remove') delete holder[key];
    else holder[key] = value;
    return copy;
  });

type Holder = Record<string, unknown> | unknown[];

function placesIn(holder: Holder): { holder: Holder; key: string }[] {
  return Object.entries(holder).flatMap(([key, value]) => [
    { holder, key },
    ...(typeof value === 'object' && value !== null ? placesIn(value as Holder) : []),
  ]);
}

const pieces = (...all: string[]) =>
  fc.array(fc.constantFrom(...all), { maxLength: 12 }).map((parts) => parts.join(''));

const oddUrl = fc.oneof(
  fc
    .tuple(
      fc.constantFrom('http:', 'HTTPS:', 's3:', 'tftp:', 'gs:', 'arn:aws:s3:', ''),
      pieces(
        '/',
        '//',
        ':',
        '@',
        '?',
        '#',
        '&',
        '%',
        '%41',
        '%c3',
        '%zz',
        '[',
        ']',
        '::1',
        'a',
        '80',
        ' ',
        'ä',
        '"',
        '<',
      ),
    )
    .map((parts) => parts.join('')),
  pieces('?', '&', 'versionId', '=', 'x', '%', '%49', ';', '+').map((query) => `s3://bucket/key?${query}`),
  pieces('arn:', 'aws:', 's3:', ':', '/', 'accesspoint/', 'k', '?', 'versionId=').map(
    (text) => `arn:${text}`,
  ),
);
const oddDataUrl = fc
  .tuple(
    pieces(
      'text',
      '/',
      'plain',
      ';',
      'a',
      '=',
      'b',
      '"',
      '\\',
      '\\n',
      'base64',
      'x',
      'x-',
      '%',
      '%41',
      'application',
      ' ',
    ),
    pieces(',', 'QQ', '==', '=', 'A', '%', '%41', '%0', '#', '<', 'a', '+', '/', '?', 'ä', '\n', ';base64,'),
  )
  .map(([header, data]) => `data:${header}${data}`);
const oddUnit = pieces(
  ...[
    '[Unit]',
    '[',
    ']',
    'A',
    '=',
    'b',
    '\n',
    '\r\n',
    '\\',
    '\\\n',
    '#',
    ';',
    ' ',
    '\t',
    '\u00a0',
    '\u0085',
    '\ufeff',
    '[Install]\n',
  ],
  ...['\nA=b\n', 'x'.repeat(700), 'ä'.repeat(400), 'A=b\n'.repeat(300), '\n# '],
);
const oddPath = pieces('/', '/', 'a', '.', '..', ' ', 'ä');

/** Configs with one text that was put together from parts that matter to those who parse it. */
export const oddTextConfig: fc.Arbitrary<IgnitionConfig> = fc.oneof(
  fc.oneof(oddUrl, oddDataUrl).map((url) => ({
    ignition: { version: '3.4.0' },
    storage: { files: [{ path: '/a', contents: { source: url } }] },
  })),
  oddUrl.map((url) => ({ ignition: { version: '3.4.0', proxy: { httpProxy: url } } })),
  oddUnit.map((text) => ({
    ignition: { version: '3.4.0' },
    systemd: { units: [{ name: 'a.service', contents: text }] },
  })),
  fc.tuple(oddPath, oddPath).map(([path, target]) => ({
    ignition: { version: '3.4.0' },
    storage: { directories: [{ path: '/a' }, { path: '/a/a' }], links: [{ path, target, hard: true }] },
  })),
  oddPath.map((path) => ({
    ignition: { version: '3.4.0' },
    systemd: { units: [{ name: `${path}.service` }] },
  })),
);
