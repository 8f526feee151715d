import { didYouMean } from '../../document/nearest.ts';
import { quote } from '../../document/problem.ts';
import type { JsonNode } from './json-text.ts';
import { type ConfigPath, fieldName, formatConfigPath } from './place.ts';
import type { SchemaNode } from './schema-node.ts';
import { FIELD_SINCE } from './since.ts';
import { isAtLeast, type SpecVersion } from './version.ts';

/** Told of what is odd, or wrong, on the way. */
export interface DecodeEvents {
  error(path: ConfigPath, message: string): void;
  warning(path: ConfigPath, message: string): void;
}

type Fields = Record<string, unknown>;

const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);

/**
 * The value that Ignition has in hand after it has read a text: null is absent, unknown keys and those of a newer
 * spec are dropped, keys are taken whatever their case, text that must be there is "", and of keys that come twice
 * the objects are merged and the last of all else wins.
 * Where a value has the wrong type it stays as it is, for the check of the structure to see.
 */
export class Decoder {
  /** Where in the text the value, or the odd key, at a path begins. */
  readonly #offsets: Map<string, number>;
  readonly #version: SpecVersion | undefined;
  readonly #events: DecodeEvents;

  /** Without a version, every field is known. */
  constructor(version: SpecVersion | undefined, offsets: Map<string, number>, events: DecodeEvents) {
    this.#version = version;
    this.#offsets = offsets;
    this.#events = events;
  }

  decode(node: JsonNode, schema: SchemaNode, path: ConfigPath = [], earlier?: unknown): unknown {
    this.#offsets.set(formatConfigPath(path), node.start);
    if (node.kind === 'object' && schema.type === 'object') return this.#object(node, schema, path, earlier);
    if (node.kind === 'array' && schema.type === 'array') return this.#list(node, schema, path, earlier);
    if (node.kind === 'number' && schema.type === 'integer') return this.#integer(node.written, path);
    return plainValue(node);
  }

  #object(
    node: Extract<JsonNode, { kind: 'object' }>,
    schema: SchemaNode,
    path: ConfigPath,
    earlier: unknown,
  ): Fields {
    const fields: Fields = isFields(earlier) ? earlier : {};
    const properties = schema.properties ?? {};
    const seen = new Set<string>();
    for (const { key, keyStart, value } of node.members) {
      const name = Object.hasOwn(properties, key) ? key : sameButForCase(key, properties);
      if (name !== key || !this.#isKnown([...path, name])) {
        this.#offsets.set(formatConfigPath([...path, key]), keyStart);
        this.#events.warning([...path, key], this.#aboutKey(key, name, path, properties));
      }
      if (name === undefined || !this.#isKnown([...path, name])) continue;
      if (seen.has(name)) {
        this.#events.warning(
          [...path, name],
          `${quote(name)} comes twice in this object; keep only one of them`,
        );
      }
      seen.add(name);
      const inner = properties[name]!;
      if (value.kind !== 'null') fields[name] = this.decode(value, inner, [...path, name], fields[name]);
      // A null leaves objects and mandatory text as they were, and takes away anything else.
      else if (inner.type !== 'object' && !schema.required?.includes(name)) delete fields[name];
    }
    fillMandatory(fields, schema);
    return fields;
  }

  #list(
    node: Extract<JsonNode, { kind: 'array' }>,
    schema: SchemaNode,
    path: ConfigPath,
    earlier: unknown,
  ): unknown[] {
    const before: unknown[] = Array.isArray(earlier) ? earlier : [];
    const entry = schema.items!;
    return node.items.map((item, index) => {
      if (item.kind !== 'null') return this.decode(item, entry, [...path, index], before[index]);
      this.#offsets.set(formatConfigPath([...path, index]), item.start);
      this.#events.warning([...path, index], 'null stands for an empty entry here; remove it');
      return entry.type === 'object' ? fillMandatory({}, entry) : '';
    });
  }

  /** Only digits will do: 1.0 and 1e3 are no whole numbers to Ignition. */
  #integer(written: string, path: ConfigPath): number {
    const isWhole = /^-?\d+$/.test(written);
    if (!isWhole) this.#events.error(path, `expected a whole number in digits only, got ${written}`);
    else if (BigInt(written) > INT64_MAX || BigInt(written) < INT64_MIN) {
      this.#events.error(path, `${written} is more than any machine can count; expected a smaller number`);
    }
    return isWhole ? Number(written) : 0;
  }

  #isKnown(path: readonly (string | number | undefined)[]): boolean {
    if (path.at(-1) === undefined) return false;
    const since = FIELD_SINCE[fieldName(path as ConfigPath)];
    return since === undefined || this.#version === undefined || isAtLeast(this.#version, since);
  }

  #aboutKey(
    key: string,
    name: string | undefined,
    path: ConfigPath,
    properties: SchemaNode['properties'],
  ): string {
    if (name === undefined) {
      return `unknown key ${quote(key)}, which Ignition ignores${didYouMean(key, Object.keys(properties ?? {}))}`;
    }
    if (this.#isKnown([...path, name])) return `${quote(key)} is read as "${name}"; write "${name}"`;
    const since = FIELD_SINCE[fieldName([...path, name])];
    return `"${name}" came with spec ${since}: Ignition ignores it in a config of ${this.#version}; set ignition.version to "${since}"`;
  }
}

/** What Ignition takes text that is absent for. */
function fillMandatory(fields: Fields, { properties, required }: SchemaNode): Fields {
  for (const name of required ?? []) {
    if (fields[name] !== undefined) continue;
    const inner = properties![name]!;
    fields[name] = inner.type === 'object' ? fillMandatory({}, inner) : '';
  }
  return fields;
}

/** Simple case folding, as Ignition's JSON library does: the `i` and `u` of a regular expression are just that. */
function sameButForCase(key: string, properties: Readonly<Record<string, SchemaNode>>): string | undefined {
  return Object.keys(properties).find(
    (name) => name.length === key.length && new RegExp(`^${name}$`, 'iu').test(key),
  );
}

/** Of a value that has the wrong type only what a message shows of it. */
function plainValue(node: JsonNode): unknown {
  switch (node.kind) {
    case 'object':
      return node.members.length === 0 ? {} : { '…': true };
    case 'array':
      return node.items.length === 0 ? [] : ['…'];
    case 'number':
      return Number(node.written);
    case 'null':
      return null;
    default:
      return node.value;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
