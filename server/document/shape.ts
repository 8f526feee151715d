import Type, { type Static, type TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { Settings } from 'typebox/system';
import { didYouMean } from './nearest.ts';
import { type Problem, quote } from './problem.ts';
import type { Path, YamlDocument } from './yaml.ts';

// TypeBox stops after 8 faults by default; people want to see all of theirs at once.
Settings.Set({ maxErrors: 1000 });

/**
 * A schema with a check that no JSON Schema can express. `explain` gives the whole sentence about a value that fails;
 * without it, `expected` speaks.
 */
export function checked<T extends TSchema>(
  schema: T,
  isRight: (value: Static<T>) => boolean,
  explain?: (value: Static<T>) => string,
) {
  return Type.Refine(schema, isRight, (value) => explain?.(value) ?? '');
}

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
 * A schema may carry `expected`: what a person should have written, in words; and `secret`: what was written in its
 * place must not be shown.
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
      .map(({ schemaPath, instancePath }) => {
        const value = valueAt(root, pointerToPath(instancePath, root));
        const branch = branchFor(schemaAt(this.schema as Schema, schemaPath), value);
        return { schemaPath, meant: branch === undefined ? undefined : `${schemaPath}/anyOf/${branch}` };
      });
    /** One sentence for a union, not one for each of its branches, unless it is clear which branch was meant. */
    const isAside = ({ keyword, schemaPath }: Fault): boolean =>
      unions.some(({ schemaPath: union, meant }) =>
        keyword === 'anyOf' && schemaPath === union
          ? meant !== undefined
          : schemaPath.startsWith(`${union}/anyOf/`) &&
            (meant === undefined || !`${schemaPath}/`.startsWith(`${meant}/`)),
      );
    const problems: Problem[] = [];
    const say = (place: 'key' | 'value', path: Path, message: string): void => {
      const { file, line, col } = place === 'key' ? document.placeOfKey(path) : document.placeOf(path);
      problems.push({ severity: 'error', file, line, col, subject, message });
    };
    for (const fault of faults) {
      if (isAside(fault)) continue;
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
            say('key', [...path, key], `${at}unknown key ${quote(key)}${list}`);
          }
          break;
        }
        case 'required':
          for (const key of fault.params.requiredProperties as string[]) {
            const wanted = expectedOf(schema?.properties?.[key]);
            say('value', path, `${at}"${key}" is missing${wanted === '' ? '' : `; expected ${wanted}`}`);
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
          if (fault.keyword === '~refine' && fault.message !== '') {
            say('value', path, `${at}${fault.message}`);
            break;
          }
          const wanted = expectedOf(schema) || fault.message.replace(/^must (be|have|match) /, '');
          const value = valueAt(root, inner);
          const got = schema?.secret && isScalar(value) ? 'plain text' : show(value);
          const hint = fitsInQuotes(schema, value) ? '; put it in quotes' : '';
          say('value', path, `${at}expected ${wanted}, got ${got}${hint}`);
        }
      }
    }
    return problems;
  }
}

type Schema = {
  type?: string;
  expected?: string;
  secret?: boolean;
  pattern?: string;
  minLength?: number;
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
      return schema?.minLength === undefined ? 'text' : 'text that is not empty';
    case 'array':
      return 'a list (lines that start with "- ")';
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

/** `true` is no text, but "true" is. */
function fitsInQuotes(schema: Schema | undefined, value: unknown): boolean {
  if (schema?.type !== 'string' || typeof value !== 'boolean') return false;
  return schema.pattern === undefined
    ? schema.expected === undefined
    : new RegExp(schema.pattern).test(String(value));
}

/** Which branch of a union a value was meant for: the only one of its type that can explain what it expects. */
function branchFor(union: Schema | undefined, value: unknown): number | undefined {
  const type = Array.isArray(value) ? 'array' : isRecord(value) ? 'object' : typeof value;
  const branches = union?.anyOf ?? [];
  const fitting = branches.filter((branch) => branch.type === type && branch.expected !== undefined);
  return fitting.length === 1 ? branches.indexOf(fitting[0]!) : undefined;
}

function numbersAsWritten(schema: Schema, value: unknown, path: Path, document: YamlDocument): unknown {
  const branches = [schema, ...(schema.anyOf ?? [])];
  if (typeof value === 'number') {
    const takes = (...types: string[]): boolean => branches.some(({ type }) => types.includes(type ?? ''));
    return takes('string') && !takes('number', 'integer') ? (document.textOf(path) ?? value) : value;
  }
  if (Array.isArray(value)) {
    const items = branches.find((branch) => branch.items !== undefined)?.items;
    if (items === undefined) return value;
    return value.map((item, index) => numbersAsWritten(items, item, [...path, index], document));
  }
  if (isRecord(value)) {
    const innerOf = (key: string): Schema | undefined => {
      const named = branches.find((branch) => Object.hasOwn(branch.properties ?? {}, key))?.properties?.[key];
      return named ?? branches.flatMap((branch) => Object.values(branch.patternProperties ?? {}))[0];
    };
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => {
        const inner = innerOf(key);
        return [key, inner === undefined ? item : numbersAsWritten(inner, item, [...path, key], document)];
      }),
    );
  }
  return value;
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' && value !== undefined;
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

/** What was written, in a few words. */
export function show(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'object') return Object.keys(value).length === 0 ? 'an empty mapping' : 'a mapping';
  return typeof value === 'string' ? quote(value) : String(value);
}
