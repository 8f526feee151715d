import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Finding, readIgnition, validateIgnition } from '../../server/ignition/validate.ts';
import { damagedConfig, goodConfig } from './generate.ts';

const ignition = { version: '3.3.0' };
const file = (fields: object): object => ({ ignition, storage: { files: [{ path: '/a', ...fields }] } });

function say({ severity, path, message, line, col }: Finding): string {
  const place = line === undefined ? '' : `${line}:${col} `;
  return `${severity} ${place}${path}: ${message}`;
}

describe('what is told', () => {
  it.each<{ what: string; config: unknown; says: string[] }>([
    { what: 'nothing about a good config', config: { ignition }, says: [] },
    {
      what: 'the version is missing',
      config: {},
      says: [
        'error $.ignition.version: the version of the spec is missing; write {"ignition": {"version": "3.3.0"}}',
      ],
    },
    {
      what: 'an old version',
      config: { ignition: { version: '2.3.0' } },
      says: [
        'error $.ignition.version: spec "2.3.0" is too old; versions 3.0.0 to 3.4.0 are known: translate the config',
      ],
    },
    {
      what: 'a typo in a key',
      config: { ignition, storage: { flies: [] } },
      says: ['warning $.storage.flies: unknown key "flies", which Ignition ignores; did you mean "files"?'],
    },
    {
      what: 'a field that came later',
      config: { ignition: { version: '3.2.0' }, kernelArguments: {} },
      says: [
        'warning $.kernelArguments: "kernelArguments" came with spec 3.3.0: Ignition ignores it in a config of 3.2.0; set ignition.version to "3.3.0"',
      ],
    },
    {
      what: 'a scheme that came later',
      config: { ...file({ contents: { source: 'gs://b/k' } }), ignition: { version: '3.1.0' } },
      says: [
        'error $.storage.files.0.contents.source: "gs:" came with spec 3.2.0; set ignition.version to "3.2.0"',
      ],
    },
    {
      what: 'a mode in octal digits',
      config: file({ mode: 100644 }),
      says: ['error $.storage.files.0.mode: expected a mode from 0 to 4095 (07777), got 100644'],
    },
    {
      what: 'a mode that looks octal',
      config: file({ mode: 644 }),
      says: ['warning $.storage.files.0.mode: 644 is mode 1204; if 0644 was meant, write 420'],
    },
    {
      what: 'a mode in text',
      config: file({ mode: '0644' }),
      says: ['error $.storage.files.0.mode: expected a whole number, got text'],
    },
    {
      what: 'several faults at once',
      config: {
        ignition,
        storage: { files: [{ path: 'a' }, { path: '/b/' }] },
        systemd: { units: [{ name: 'x' }] },
      },
      says: [
        'error $.storage.files.0.path: "a" is not absolute; start it with "/"',
        'error $.storage.files.1.path: "/b/" is not in its shortest form; write "/b"',
        'error $.systemd.units.0.name: expected a name that ends in .service, .mount, .timer …, got "x"',
        'warning $.systemd.units.0: nothing is said about "x"; give it contents, or remove it',
      ],
    },
    {
      what: 'one path twice',
      config: { ignition, storage: { directories: [{ path: '/a' }], files: [{ path: '/a' }] } },
      says: ['error $.storage.files.0: "/a" is at storage.directories.0 already; keep only one of them'],
    },
    {
      what: 'a file below a file, which Ignition finds out when it is too late',
      config: { ignition, storage: { files: [{ path: '/a' }, { path: '/a/b' }] } },
      says: ['warning $.storage.files.1: it is below the file "/a", which can\'t hold anything'],
    },
    {
      what: 'a unit that is not one',
      config: { ignition, systemd: { units: [{ name: 'a.service', contents: '[Unit]\nhello\n' }] } },
      says: ['error $.systemd.units.0.contents: line 2 is neither a section nor a setting; write Name=value'],
    },
  ])('is about $what', ({ config, says }) => {
    expect(validateIgnition(config).map(say).toSorted()).toEqual(says.toSorted());
  });

  it('has line and column of a text', () => {
    const text =
      '{\n "ignition": {"version": "3.3.0"},\n "storage": {"files": [\n  {"path": "a", "x": 1}\n ]}}';
    expect(validateIgnition(text).map(say)).toEqual([
      'error 4:12 $.storage.files.0.path: "a" is not absolute; start it with "/"',
      'warning 4:17 $.storage.files.0.x: unknown key "x", which Ignition ignores',
    ]);
  });

  it.each([
    ['', 'error 1:1 $: this is no JSON: expected a value, got the end of the text'],
    ['{\n "a": 1,\n}', 'error 3:1 $: this is no JSON: expected a key in double quotes, got "}"'],
    ['{"a": "b', 'error 1:7 $: this is no JSON: this text has no closing double quote'],
    ['{"a" 1}', 'error 1:6 $: this is no JSON: expected ":" after the key "a", got "1"'],
    ['[1 2]', 'error 1:4 $: this is no JSON: expected "," or "]" after a value, got "2"'],
    ['{} {}', 'error 1:4 $: this is no JSON: the config ended before this; remove the rest'],
    ['"\\x"', 'error 1:2 $: this is no JSON: JSON has no such escape; a backslash itself is written \\\\'],
    ['[]', 'error 1:1 $: expected an object ({…}), got a list'],
  ])('has the place where a text stops to be a config: %j', (text, says) => {
    expect(validateIgnition(text).map(say)).toEqual([says]);
  });

  it('has a key that comes twice, of a text', () => {
    const text = '{"ignition": {"version": "3.3.0"}, "storage": {}, "storage": {}}';
    expect(validateIgnition(text).map(say)).toEqual([
      'warning 1:62 $.storage: "storage" comes twice in this object; keep only one of them',
    ]);
  });

  it.each([
    { passwordHash: 12345678 },
    { passwordHash: 'hunter2' },
    { sshAuthorizedKeys: ['-----BEGIN OPENSSH PRIVATE KEY----- hunter2'] },
  ])('is free of secrets: %j', (fields) => {
    const said = JSON.stringify(
      validateIgnition({ ignition, passwd: { users: [{ name: 'a', ...fields }] } }),
    );
    expect(said).toMatch(/message/);
    expect(said).not.toMatch(/hunter2|12345678/);
  });

  it('is free of passwords in URLs', () => {
    const source = 'https://user:hunter2@host:port/';
    const config = {
      ...file({ contents: { source } }),
      ignition: { ...ignition, proxy: { httpProxy: source } },
    };
    expect(JSON.stringify(validateIgnition(config))).not.toContain('hunter2');
  });
});

describe('the config that is read', () => {
  it('is what Ignition understands', () => {
    const text =
      '{"Ignition": {"version": "3.0.0"}, "storage": {"files": [{"Path": "/a", "mode": null, "x": 1}], "luks": 5}, "kernelArguments": {}}';
    expect(readIgnition(text).config).toEqual({
      ignition: { version: '3.0.0' },
      storage: { files: [{ path: '/a' }] },
    });
  });

  it('is absent when Ignition refuses it', () => {
    expect(readIgnition(file({ mode: -1 })).config).toBeUndefined();
  });

  it('is the same from bytes', () => {
    const bytes = new TextEncoder().encode(JSON.stringify({ ignition }));
    expect(readIgnition(bytes)).toEqual({ config: { ignition }, findings: [] });
  });
});

describe('anything', () => {
  const endless: Record<string, unknown> = { ignition };
  endless.storage = endless;

  it.each([undefined, null, 5, 5n, Symbol('x'), () => {}, endless, [], new Date(Number.NaN), new Map()])(
    'that is no config is refused, not thrown at: %s',
    (input) => {
      expect(validateIgnition(input)).toContainEqual(expect.objectContaining({ severity: 'error' }));
    },
  );

  it('is survived: values', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withMap: true }), (input) => !!validateIgnition(input)),
    );
  });

  it('is survived: texts', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.json(),
      fc.string({ unit: fc.constantFrom(...'{}[]",:0e-\\u ') }),
    );
    fc.assert(fc.property(text, (input) => !!validateIgnition(input)));
  });

  it('is survived: values in the sections of a config', () => {
    const section = fc.dictionary(
      fc.constantFrom('files', 'links', 'disks', 'units', 'users', 'luks'),
      fc.jsonValue(),
    );
    const config = fc.record({
      storage: section,
      systemd: section,
      passwd: section,
      kernelArguments: fc.jsonValue(),
    });
    fc.assert(fc.property(config, (sections) => !!validateIgnition({ ignition, ...sections })));
  });

  it('that is nested deeply is survived', () => {
    expect(validateIgnition('['.repeat(1_000_000))).toHaveLength(1);
    expect(validateIgnition('{"ignition":'.repeat(5000))).toHaveLength(1);
  });

  it('that is large is judged in a time that grows with its size, not with its square', () => {
    const contents = { source: `data:;base64,${'A'.repeat(8_000_000)}` };
    const units = [{ name: 'a.service', contents: `[Unit]\n${'A=b\n'.repeat(100_000)}` }];
    const started = performance.now();
    expect(validateIgnition(JSON.stringify({ ...file({ contents }), systemd: { units } }))).toEqual([]);
    // Less than a second on an idle machine; hours if it were the square.
    expect(performance.now() - started).toBeLessThan(60_000);
  });
});

describe('generated configs', () => {
  it('that are good are accepted', () => {
    fc.assert(
      fc.property(goodConfig, (config) => {
        expect(validateIgnition(config).filter(({ severity }) => severity === 'error')).toEqual([]);
      }),
    );
  });

  it('are judged alike as values and as texts', () => {
    fc.assert(
      fc.property(damagedConfig, (config) => {
        const asText = validateIgnition(JSON.stringify(config, null, 2)).map(
          ({ line, col, ...rest }) => rest,
        );
        const key = (finding: Finding): string => JSON.stringify(finding);
        expect(asText.map(key).toSorted()).toEqual(validateIgnition(config).map(key).toSorted());
      }),
    );
  });

  it('give a config that is judged alike', () => {
    fc.assert(
      fc.property(damagedConfig, (config) => {
        const read = readIgnition(config).config;
        if (read !== undefined) expect(readIgnition(read).config).toEqual(read);
      }),
    );
  });
});
