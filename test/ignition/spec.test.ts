import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type JsonNode, parseJson, placeOfOffset } from '../../server/ignition/spec/json-text.ts';
import { IgnitionConfigSchema } from '../../server/ignition/spec/schema.ts';
import { type SchemaNode, schemaNode } from '../../server/ignition/spec/schema-node.ts';
import { FIELD_SINCE } from '../../server/ignition/spec/since.ts';
import { isAtLeast, newerOf, readSpecVersion } from '../../server/ignition/spec/version.ts';

/** `storage.files[].path` and all others. */
function fieldsOf(schema: SchemaNode, path = ''): string[] {
  if (schema.type === 'array') return fieldsOf(schema.items!, `${path}[]`);
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const field = path === '' ? name : `${path}.${name}`;
    return [field, ...fieldsOf(inner, field)];
  });
}

describe('the schema', () => {
  const fields = fieldsOf(schemaNode(IgnitionConfigSchema));

  it.each(Object.keys(FIELD_SINCE))('has the field whose first version is told: %s', (field) => {
    expect(fields).toContain(field);
  });

  it('has rules for every list of objects', () => {
    const lists = (schema: SchemaNode): SchemaNode[] => [
      ...(schema.type === 'array' ? [schema, ...lists(schema.items!)] : []),
      ...Object.values(schema.properties ?? {}).flatMap(lists),
    ];
    const ofObjects = lists(schemaNode(IgnitionConfigSchema)).filter(({ items }) => items?.type === 'object');
    expect(ofObjects.length).toBeGreaterThan(10);
    for (const list of ofObjects) expect(list.key !== undefined || list.appended === true).toBe(true);
  });
});

describe('versions', () => {
  it.each([
    ['3.3.0', '3.3.0'],
    ['03.003.0', '3.3.0'],
    ['3.3.0-+', '3.3.0'],
    ['3.3.0+x', undefined],
    ['3.5.0', undefined],
    ['', undefined],
  ])('%j is read as %s', (text, version) => {
    expect(readSpecVersion(text)).toBe(version);
  });

  it('have an order', () => {
    expect(isAtLeast('3.3.0', '3.2.0')).toBe(true);
    expect(isAtLeast('3.2.0', '3.3.0')).toBe(false);
    expect(newerOf('3.0.0', '3.4.0')).toBe('3.4.0');
  });
});

describe('JSON', () => {
  function plainValue(node: JsonNode): unknown {
    switch (node.kind) {
      case 'object':
        return Object.fromEntries(node.members.map(({ key, value }) => [key, plainValue(value)]));
      case 'array':
        return node.items.map(plainValue);
      case 'number':
        return Number(node.written);
      case 'null':
        return null;
      default:
        return node.value;
    }
  }

  function parseStrictly(text: string): unknown {
    try {
      return { value: JSON.parse(text) as unknown };
    } catch {
      return 'no JSON';
    }
  }

  function parseHere(text: string): unknown {
    const parsed = parseJson(text);
    return 'root' in parsed ? { value: plainValue(parsed.root) } : 'no JSON';
  }

  it('is read as JSON.parse reads it', () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: 'binary' }), fc.constantFrom(0, 2), (text, indent) => {
        const spaced = JSON.stringify(JSON.parse(text), null, indent);
        expect(parseHere(spaced)).toEqual(parseStrictly(spaced));
      }),
    );
  });

  it('is refused where JSON.parse refuses it', () => {
    const pieces = [
      '{',
      '}',
      '[',
      ']',
      '"',
      ',',
      ':',
      '0',
      '-',
      '.',
      'e',
      '\\',
      'u0041',
      'n',
      ' ',
      '\n',
      'null',
      'true',
    ];
    const text = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, (broken) => {
        expect(parseHere(broken)).toEqual(parseStrictly(broken));
      }),
      { numRuns: 5000 },
    );
  });

  it('has places', () => {
    expect(placeOfOffset('a\nbc\nd', 0)).toEqual({ line: 1, col: 1 });
    expect(placeOfOffset('a\nbc\nd', 3)).toEqual({ line: 2, col: 2 });
    expect(placeOfOffset('a\nbc\nd', 5)).toEqual({ line: 3, col: 1 });
  });
});
