import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { Settings } from 'typebox/system';
import { didYouMean } from './nearest.ts';
import type { Problem } from './problem.ts';
import type { Path, YamlDocument } from './yaml.ts';

// TypeBox stops after 8 faults by default; people want to see all of theirs at once.
Settings.Set({ maxErrors: 1000 });

/** What TypeBox says about one fault; only the parts that are used here. */
interface Fault {
  keyword: string;
  schemaPath: string;
  instancePath: string;
  params: Record<string, unknown>;
  message: string;
}

/**
 * A TypeBox schema that explains, with the place in the file, why a value doesn't fit.
 * A schema may carry `expected`: what a person should have written, in words.
 */
export class Shape<T extends TSchema> {
  readonly schema: T;
  #compiled: ReturnType<typeof Compile<T>> | undefined;

  constructor(schema: T) {
    this.schema = schema;
  }

  accepts(value: unknown): value is Static<T> {
    this.#compiled ??= Compile(this.schema);
    return this.#compiled.Check(value);
  }

  /** The value, if it fits; else every reason why not. */
  read(
    document: YamlDocument,
    path: Path,
    subject: string,
    value: unknown,
  ): { value: Static<T> } | { problems: Problem[] } {
    if (this.accepts(value)) return { value };
    // Text that looks like a number (1.30, 001122334455) is text where text is wanted: take it as written.
    const asText = numbersAsWritten(this.schema as Schema, value, path, document);
    if (this.accepts(asText)) return { value: asText };
    const faults = [...this.#compiled!.Errors(asText)] as unknown as Fault[];
    return { problems: this.#explain(faults, document, path, subject, asText) };
  }

  #explain(faults: Fault[], document: YamlDocument, base: Path, subject: string, root: unknown): Problem[] {
    const unions = faults
      .filter((fault) => fault.keyword === 'anyOf')
      .map((fault) => `${fault.schemaPath}/anyOf/`);
    const problems: Problem[] = [];
    const say = (place: 'key' | 'value', path: Path, message: string): void => {
      const { file, line, col } = place === 'key' ? document.placeOfKey(path) : document.placeOf(path);
      problems.push({ severity: 'error', file, line, col, subject, message });
    };
    for (const fault of faults) {
      // One sentence for a union, not one for each of its branches.
      if (unions.some((union) => fault.schemaPath.startsWith(union))) continue;
      const schema = schemaAt(this.schema as Schema, fault.schemaPath);
      const inner = pointerToPath(fault.instancePath, root);
      const path = [...base, ...inner];
      const at = inner.length === 0 ? '' : `\`${formatPath(inner)}\`: `;
      switch (fault.keyword) {
        case 'boolean':
          break; // says the same as additionalProperties
        case 'additionalProperties': {
          const known = Object.keys(schema?.properties ?? {});
          for (const key of fault.params.additionalProperties as string[]) {
            const guess = didYouMean(key, known);
            const list = guess === '' ? `; known keys: ${known.join(', ')}` : guess;
            say('key', [...path, key], `${at}unknown key "${key}"${list}`);
          }
          break;
        }
        case 'required':
          for (const key of fault.params.requiredProperties as string[]) {
            const wanted = expectedOf(schema?.properties?.[key]);
            say('value', path, `${at}"${key}" is missing${wanted === '' ? '' : ` (${wanted})`}`);
          }
          break;
        case 'enum': {
          const allowed = (fault.params.allowedValues as unknown[]).map(String);
          const got = valueAt(root, inner);
          const guess = typeof got === 'string' ? didYouMean(got, allowed) : '';
          say('value', path, `${at}expected ${oneOf(allowed)}, got ${show(got)}${guess}`);
          break;
        }
        default: {
          const wanted = expectedOf(schema) || fault.message.replace(/^must (be|have|match) /, '');
          say('value', path, `${at}expected ${wanted}, got ${show(valueAt(root, inner))}`);
        }
      }
    }
    return problems;
  }
}

type Schema = {
  type?: string;
  expected?: string;
  description?: string;
  enum?: unknown[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
};

function expectedOf(schema: Schema | undefined): string {
  if (schema?.expected !== undefined) return schema.expected;
  if (schema?.enum !== undefined) return oneOf(schema.enum.map(String));
  switch (schema?.type) {
    case 'string':
      return 'text';
    case 'array':
      return 'a list';
    case 'object':
      return 'a mapping (key: value)';
    case 'boolean':
      return 'true or false';
    case 'integer':
      return 'a whole number';
    default:
      return '';
  }
}

function numbersAsWritten(schema: Schema, value: unknown, path: Path, document: YamlDocument): unknown {
  if (typeof value === 'number') {
    const wantsText = [schema, ...(schema.anyOf ?? [])].some((branch) => branch.type === 'string');
    return wantsText ? (document.textOf(path) ?? value) : value;
  }
  if (Array.isArray(value)) {
    const items = [schema, ...(schema.anyOf ?? [])].find((branch) => branch.items !== undefined)?.items;
    if (items === undefined) return value;
    return value.map((item, index) => numbersAsWritten(items, item, [...path, index], document));
  }
  if (isRecord(value)) {
    const pattern = Object.values(schema.patternProperties ?? {})[0];
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => {
        const inner = schema.properties?.[key] ?? pattern;
        return [key, inner === undefined ? item : numbersAsWritten(inner, item, [...path, key], document)];
      }),
    );
  }
  return value;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `hosts[3].macs[0]`, the way people write it. */
export function formatPath(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    return text === '' ? step : `${text}.${step}`;
  }, '');
}

function pointerToPath(pointer: string, root: unknown): Path {
  const path: (string | number)[] = [];
  let value = root;
  for (const raw of pointer.split('/').slice(1)) {
    const name = raw.replaceAll('~1', '/').replaceAll('~0', '~');
    const step = Array.isArray(value) ? Number(name) : name;
    path.push(step);
    value = (value as Record<string | number, unknown> | undefined)?.[step];
  }
  return path;
}

function schemaAt(root: Schema, schemaPath: string): Schema | undefined {
  let node: unknown = root;
  for (const step of schemaPath.split('/').slice(1)) {
    node = (node as Record<string, unknown> | undefined)?.[step.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return node as Schema | undefined;
}

function valueAt(root: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, step) => (value as Record<string | number, unknown>)?.[step], root);
}

function oneOf(words: string[]): string {
  return words.length === 1 ? `"${words[0]}"` : `one of ${words.join(', ')}`;
}

function show(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object') return 'a mapping';
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}…"` : text;
}
