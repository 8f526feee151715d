import Type, { type Static, type TSchema } from 'typebox';
import { Errors } from 'typebox/value';
import { quote } from '../document/problem.ts';
import { Shape, show } from '../document/shape.ts';
import { CHECKS } from './checks/all.ts';
import { Decoder } from './spec/decode.ts';
import { type JsonNode, parseJson, placeOfOffset } from './spec/json-text.ts';
import { type ConfigPath, formatConfigPath } from './spec/place.ts';
import { type IgnitionConfig, IgnitionConfigSchema } from './spec/schema.ts';
import { schemaNode } from './spec/schema-node.ts';
import { readSpecVersion, SPEC_VERSIONS, type SpecVersion, USUAL_VERSION } from './spec/version.ts';

/** Something wrong, or odd, in a config. An error is what Ignition itself refuses. */
export interface Finding {
  severity: 'error' | 'warning';
  /** `$.storage.files.0.path`, the way `ignition-validate` writes it. */
  path: string;
  /** What it is, and what to do about it. */
  message: string;
  /** From 1; only of a config that was given as text. */
  line?: number;
  col?: number;
}

export interface ReadConfig {
  /** The config as Ignition understands it; undefined when Ignition would refuse it. */
  config: IgnitionConfig | undefined;
  findings: Finding[];
}

const SHAPE = new Shape(IgnitionConfigSchema);
/** All that must be read before anything else: it says how to read the rest. */
const VERSION_SHAPE = new Shape(Type.Object({ ignition: Type.Object({ version: Type.String() }) }));

/** What is wrong with a config, given as text or as a value. It never throws. */
export function validateIgnition(input: unknown): Finding[] {
  return readIgnition(input).findings;
}

/** The config in a text, or in a value, with all that is to be said about it. It never throws. */
export function readIgnition(input: unknown): ReadConfig {
  const text = textOf(input);
  if (text === undefined) {
    const message = `expected a config, got ${show(input)} that can't be written as JSON`;
    return { config: undefined, findings: [{ severity: 'error', path: '$', message }] };
  }
  const isText = typeof input === 'string' || input instanceof Uint8Array;
  const reading = new Reading(text);
  const config = reading.read();
  return { config, findings: isText ? reading.placed() : reading.findings };
}

function textOf(input: unknown): string | undefined {
  if (typeof input === 'string') return input;
  if (input instanceof Uint8Array) return new TextDecoder('utf-8', { ignoreBOM: true }).decode(input);
  try {
    // What would be served is what is judged.
    return JSON.stringify(input);
  } catch {
    return undefined;
  }
}

/** One config on its way from text to a checked value. */
class Reading {
  readonly findings: Finding[] = [];
  readonly #text: string;
  readonly #offsets = new Map<string, number>();

  constructor(text: string) {
    this.#text = text;
  }

  read(): IgnitionConfig | undefined {
    const root = this.#parse();
    const version = root && this.#version(root);
    const config = root && version && this.#decode(root, SHAPE, version);
    if (!config) return undefined;
    for (const check of CHECKS) check(config, { version, error: this.#error, warning: this.#warning });
    return this.#isRefused() ? undefined : config;
  }

  /** With line and column, from top to bottom. */
  placed(): Finding[] {
    return this.findings
      .map((finding) => ({ finding, offset: this.#offsetOf(finding.path) }))
      .toSorted((a, b) => a.offset - b.offset)
      .map(({ finding, offset }) => ({ ...finding, ...placeOfOffset(this.#text, offset) }));
  }

  #parse(): JsonNode | undefined {
    const parsed = parseJson(this.#text);
    if ('root' in parsed) return parsed.root;
    this.#offsets.set('$', parsed.fault.offset);
    this.#error([], `this is no JSON: ${parsed.fault.message}`);
    return undefined;
  }

  #version(root: JsonNode): SpecVersion | undefined {
    const written = this.#decode(root, VERSION_SHAPE, undefined)?.ignition.version;
    if (written === undefined) return undefined;
    const path = ['ignition', 'version'];
    const version = readSpecVersion(written);
    if (version === undefined) this.#error(path, versionFault(written));
    else if (version !== written)
      this.#warning(path, `${quote(written)} is read as "${version}"; write that`);
    return version;
  }

  #decode<T extends TSchema>(
    root: JsonNode,
    shape: Shape<T>,
    version: SpecVersion | undefined,
  ): Static<T> | undefined {
    // Before the version is known, any key may be right.
    const warning = version === undefined ? () => {} : this.#warning;
    const decoder = new Decoder(version, this.#offsets, { error: this.#error, warning });
    const value = decoder.decode(root, schemaNode(shape.schema));
    if (!shape.accepts(value)) {
      for (const { instancePath, params } of Errors(shape.schema, value)) {
        const path = pathOf(instancePath);
        const { type } = params as { type?: string };
        this.#error(
          path,
          `expected ${TYPE_NAMES[type ?? ''] ?? 'something else'}, got ${typeName(at(value, path))}`,
        );
      }
    }
    return this.#isRefused() ? undefined : (value as Static<T>);
  }

  /** Of the value, or of the nearest one around it that is there. */
  #offsetOf(path: string): number {
    for (let name = path; name !== ''; name = name.slice(0, Math.max(0, name.lastIndexOf('.')))) {
      const offset = this.#offsets.get(name);
      if (offset !== undefined) return offset;
    }
    return 0;
  }

  #isRefused(): boolean {
    return this.findings.some(({ severity }) => severity === 'error');
  }

  readonly #error = (path: ConfigPath, message: string): void => {
    this.findings.push({ severity: 'error', path: formatConfigPath(path), message });
  };

  readonly #warning = (path: ConfigPath, message: string): void => {
    this.findings.push({ severity: 'warning', path: formatConfigPath(path), message });
  };
}

function versionFault(written: string): string {
  const known = `versions ${SPEC_VERSIONS[0]} to ${SPEC_VERSIONS.at(-1)} are known`;
  if (written === '') {
    return `the version of the spec is missing; write {"ignition": {"version": "${USUAL_VERSION}"}}`;
  }
  if (/^[12]\./.test(written)) return `spec ${quote(written)} is too old; ${known}: translate the config`;
  return `expected the version of a spec, got ${quote(written)}; ${known}`;
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  object: 'an object ({…})',
  array: 'a list ([…])',
  string: 'text',
  integer: 'a whole number',
  boolean: 'true or false',
};

/** Never the value itself: it may be a secret. */
function typeName(value: unknown): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'string' ? 'text' : `a ${typeof value}`;
}

function pathOf(instancePath: string): ConfigPath {
  return instancePath
    .split('/')
    .slice(1)
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step));
}

function at(root: unknown, path: ConfigPath): unknown {
  return path.reduce<unknown>((value, step) => (value as Record<string | number, unknown>)?.[step], root);
}
