import Type, { type TSchema } from 'typebox';
import { describe, expect, it } from 'vitest';
import { formatProblem } from '../../server/document/problem.ts';
import { checked, formatPath, Shape } from '../../server/document/shape.ts';
import { parseYaml } from '../../server/document/yaml.ts';

function read(schema: TSchema, text: string): unknown {
  const parsed = parseYaml('f', text);
  if ('problem' in parsed) throw new Error(parsed.problem.message);
  const { document } = parsed;
  const result = new Shape(schema).read(document, [], '', document.value);
  return 'value' in result ? result.value : result.problems.map(formatProblem);
}

const closed = { additionalProperties: false };

describe('a value that fits', () => {
  const schema = Type.Object({
    version: Type.Optional(Type.String()),
    macs: Type.Optional(Type.Array(Type.String())),
    labels: Type.Optional(Type.Record(Type.String(), Type.String())),
    either: Type.Optional(Type.Union([Type.Integer(), Type.String({ pattern: '%$' })])),
    disk: Type.Optional(
      Type.Union([
        Type.String(),
        Type.Object({ serial: Type.String(), size: Type.Optional(Type.Number()) }, closed),
      ]),
    ),
    count: Type.Optional(Type.Integer()),
    free: Type.Optional(Type.Unknown()),
  });

  it.each<{ what: string; text: string; value: unknown }>([
    { what: 'a version with a zero at its end', text: 'version: 1.30', value: { version: '1.30' } },
    { what: 'a MAC address of digits', text: 'macs: [001122334455]', value: { macs: ['001122334455'] } },
    {
      what: 'a MAC address that looks like a power',
      text: 'macs: [00e122334455]',
      value: { macs: ['00e122334455'] },
    },
    { what: 'a serial number with zeros in front', text: 'version: 0042', value: { version: '0042' } },
    { what: 'a hexadecimal number', text: 'version: 0x1F', value: { version: '0x1F' } },
    { what: 'a label that is a number', text: 'labels: {rack: 07}', value: { labels: { rack: '07' } } },
    {
      what: 'text in one branch of a union',
      text: 'disk: {serial: 0042, size: 5}',
      value: { disk: { serial: '0042', size: 5 } },
    },
    {
      what: 'a number through an alias',
      text: 'free: &x 1.30\nversion: *x',
      value: { free: 1.3, version: '1.30' },
    },
    {
      what: 'a merged number',
      text: 'free: &x {version: 1.30}\n<<: *x',
      value: { free: { version: 1.3 }, version: '1.30' },
    },
    { what: 'a number where one is wanted', text: 'count: 7', value: { count: 7 } },
    { what: 'a number where anything goes', text: 'free: 1.30', value: { free: 1.3 } },
    // The second value makes the whole be read again as text: the first one must not change by that.
    {
      what: 'a number where text would do, too',
      text: 'either: 1\nversion: 1.30',
      value: { either: 1, version: '1.30' },
    },
  ])('is taken as it was written: $what', ({ text, value }) => {
    expect(read(schema, text)).toEqual(value);
  });
});

describe('a value that does not fit', () => {
  it('is told all its faults at once, however many', () => {
    const properties = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`k${n}`, Type.Integer()]));
    const text = Array.from({ length: 40 }, (_, n) => `k${n}: no`).join('\n');
    expect(read(Type.Object(properties), text)).toEqual(
      Array.from(
        { length: 40 },
        (_, n) => `f:${n + 1}:${n > 9 ? 6 : 5}: error: \`k${n}\`: expected a whole number, got "no"`,
      ),
    );
  });

  const Role = Type.Enum(['control-plane', 'worker']);
  const Size = Type.Union([Type.Integer({ minimum: 0 }), Type.String({ pattern: '^[0-9]+%$' })], {
    expected: 'a number or a percentage',
  });
  const Disk = Type.Union(
    [
      Type.String({ pattern: '^/dev/' }),
      Type.Object(
        { minSizeGB: Type.Optional(Type.Number({ expected: 'a size in GB' })) },
        { ...closed, minProperties: 1, expected: 'a selector' },
      ),
    ],
    { expected: 'a device or a selector' },
  );
  const Secret = Type.Union(
    [Type.Object({ fromFile: Type.String() }, closed), Type.Object({ fromEnv: Type.String() }, closed)],
    { expected: 'a reference', secret: true },
  );
  const Even = checked(
    Type.Integer({ expected: 'an even number' }),
    (n) => n % 2 === 0,
    (n) => (n > 100 ? `${n} is far too much` : ''),
  );
  const schema = Type.Object(
    {
      name: Type.String({ pattern: '^[a-z0-9]+$', expected: 'a name' }),
      role: Type.Optional(Role),
      size: Type.Optional(Size),
      disk: Type.Optional(Disk),
      secret: Type.Optional(Secret),
      even: Type.Optional(Even),
      on: Type.Optional(Type.Boolean()),
      list: Type.Optional(Type.Array(Type.String())),
      labels: Type.Optional(Type.Record(Type.String(), Type.String())),
      nested: Type.Optional(Type.Object({ kind: Type.String({ minLength: 1 }) }, closed)),
    },
    closed,
  );

  it.each<{ what: string; text: string; says: string[] }>([
    {
      what: 'a key is missing',
      text: 'role: worker',
      says: ['f:1:1: error: "name" is missing; expected a name'],
    },
    {
      what: 'a key is unknown, and near a known one',
      text: 'name: a\nrol: worker',
      says: ['f:2:1: error: unknown key "rol"; did you mean "role"?'],
    },
    {
      what: 'a key is unknown, and like none',
      text: 'name: a\n"with\\nbreak": 1',
      says: [
        'f:2:1: error: unknown key "with\\nbreak"; known keys: name, role, size, disk, secret, even, on, list, labels, nested',
      ],
    },
    {
      what: 'a nested key is unknown',
      text: 'name: a\nnested: {kind: x, kid: y}',
      says: ['f:2:19: error: `nested`: unknown key "kid"; did you mean "kind"?'],
    },
    {
      what: 'a word is none of the allowed ones',
      text: 'name: a\nrole: wroker',
      says: [
        'f:2:7: error: `role`: expected one of control-plane, worker, got "wroker"; did you mean "worker"?',
      ],
    },
    {
      what: 'a word is a number',
      text: 'name: a\nrole: 5',
      says: ['f:2:7: error: `role`: expected one of control-plane, worker, got 5'],
    },
    {
      what: 'a pattern does not match',
      text: 'name: A!',
      says: ['f:1:7: error: `name`: expected a name, got "A!"'],
    },
    {
      what: 'text is a boolean',
      text: 'name: true',
      says: ['f:1:7: error: `name`: expected a name, got true; put it in quotes'],
    },
    {
      what: 'text is empty',
      text: 'name: a\nnested: {kind: ""}',
      says: ['f:2:16: error: `nested.kind`: expected text that is not empty, got ""'],
    },
    { what: 'nothing is given', text: 'name:', says: ['f:1:1: error: `name`: expected a name, got nothing'] },
    {
      what: 'a list is text',
      text: 'name: a\nlist: x',
      says: ['f:2:7: error: `list`: expected a list (lines that start with "- "), got "x"'],
    },
    {
      what: 'an entry of a list is wrong',
      text: 'name: a\nlist: [x, [y]]',
      says: ['f:2:11: error: `list[1]`: expected text, got a list'],
    },
    {
      what: 'a boolean is text',
      text: 'name: a\non: yes',
      says: ['f:2:5: error: `on`: expected true or false, got "yes"'],
    },
    {
      what: 'a value of a mapping is wrong',
      text: 'name: a\nlabels:\n  a/b~c: {}',
      says: ['f:3:10: error: `labels.a/b~c`: expected text, got an empty mapping'],
    },
    {
      what: 'the whole is something else',
      text: '[]',
      says: ['f:1:1: error: expected a mapping (key: value), got an empty list'],
    },
    // One sentence for a union, not one for each of its branches …
    {
      what: 'no branch of a union fits',
      text: 'name: a\nsize: half',
      says: ['f:2:7: error: `size`: expected a number or a percentage, got "half"'],
    },
    {
      what: 'no branch fits a wrong type',
      text: 'name: a\ndisk: [x]',
      says: ['f:2:7: error: `disk`: expected a device or a selector, got a list'],
    },
    {
      what: 'no branch fits text',
      text: 'name: a\ndisk: sda',
      says: ['f:2:7: error: `disk`: expected a device or a selector, got "sda"'],
    },
    // … unless it is clear which branch was meant.
    {
      what: 'the only mapping of a union has a typo',
      text: 'name: a\ndisk: {minSizeGb: 1}',
      says: ['f:2:8: error: `disk`: unknown key "minSizeGb"; did you mean "minSizeGB"?'],
    },
    {
      what: 'the only mapping of a union is wrong inside',
      text: 'name: a\ndisk: {minSizeGB: x}',
      says: ['f:2:19: error: `disk.minSizeGB`: expected a size in GB, got "x"'],
    },
    {
      what: 'the only mapping of a union is empty',
      text: 'name: a\ndisk: {}',
      says: ['f:2:7: error: `disk`: expected a selector, got an empty mapping'],
    },
    {
      what: 'a check fails',
      text: 'name: a\neven: 7',
      says: ['f:2:7: error: `even`: expected an even number, got 7'],
    },
    {
      what: 'a check explains itself',
      text: 'name: a\neven: 777',
      says: ['f:2:7: error: `even`: 777 is far too much'],
    },
    {
      what: 'it is long',
      text: `name: ${'A'.repeat(200)}`,
      says: [`f:1:7: error: \`name\`: expected a name, got "${'A'.repeat(56)}…"`],
    },
    {
      what: 'there are names that every object has',
      text: 'name: a\nconstructor: 1\ntoString: 2\n__proto__: 3',
      says: [
        'f:2:1: error: unknown key "constructor"; known keys: name, role, size, disk, secret, even, on, list, labels, nested',
        'f:3:1: error: unknown key "toString"; known keys: name, role, size, disk, secret, even, on, list, labels, nested',
        'f:4:1: error: unknown key "__proto__"; known keys: name, role, size, disk, secret, even, on, list, labels, nested',
      ],
    },
    {
      what: 'several things are wrong',
      text: 'nam: a\nrole: x\nsize: y',
      says: [
        'f:1:1: error: unknown key "nam"; did you mean "name"?',
        'f:2:7: error: `role`: expected one of control-plane, worker, got "x"',
        'f:3:7: error: `size`: expected a number or a percentage, got "y"',
        'f:1:1: error: "name" is missing; expected a name',
      ],
    },
  ])('is told so when $what', ({ text, says }) => {
    expect((read(schema, text) as string[]).toSorted()).toEqual(says.toSorted());
  });

  it.each(['hunter2', '123456', 'true'])('is not shown where a secret belongs: %s', (secret) => {
    expect(read(schema, `name: a\nsecret: ${secret}`)).toEqual([
      'f:2:9: error: `secret`: expected a reference, got plain text',
    ]);
    expect(JSON.stringify(read(schema, `name: a\nsecret: {fromFile: x, plain: ${secret}}`))).not.toContain(
      secret,
    );
    expect(JSON.stringify(read(schema, `name: a\nsecret: [${secret}]`))).not.toContain(secret);
  });
});

it('writes a path as people do', () => {
  expect(formatPath(['hosts', 3, 'macs', 0])).toBe('hosts[3].macs[0]');
  expect(formatPath([0, 'a'])).toBe('[0].a');
  expect(formatPath([])).toBe('');
});
