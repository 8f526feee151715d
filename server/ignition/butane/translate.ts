import { didYouMean } from '../../document/nearest.ts';
import { quote } from '../../document/problem.ts';
import { isRecord, show } from '../../document/shape.ts';
import type { Path, YamlDocument } from '../../document/yaml.ts';
import type { Json, JsonObject } from './json.ts';
import type { Origins } from './origins.ts';
import type { Report } from './report.ts';
import { readBoolean, readInteger, readText } from './scalars.ts';
import { type ButaneVersion, type Field, fieldsOf, type Kind, type StructName } from './schema.ts';

/** A part of the document as it was translated: what goes into the config, and the sugar that is still to be melted. */
export interface Translated {
  made: JsonObject;
  sugar: Readonly<Record<string, unknown>>;
  path: Path;
}

/** Called for every struct once its fields are translated; it may add to `made`. */
export type Finish = (struct: StructName, translated: Translated) => void;

export interface TranslateContext {
  document: YamlDocument;
  version: ButaneVersion;
  report: Report;
  origins: Origins;
  finish: Finish;
}

/** Translates a mapping by its table: keys are checked, values are read by their kinds, empty ones are left out. */
export function translateStruct(
  struct: StructName,
  value: unknown,
  path: Path,
  context: TranslateContext,
): JsonObject {
  const made: JsonObject = {};
  context.origins.set(made, path);
  const fields = fieldsOf(struct);
  if (!isRecord(value)) {
    // Nothing at all is an empty mapping, as it is to butane.
    if (value !== null && value !== undefined)
      context.report.error(path, `expected a mapping (key: value), got ${show(value)}`);
    fillAlways(fields, made);
    return made;
  }
  refuseUnknown(fields, value, path, context);
  const sugar: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(fields)) {
    // What this version doesn't have was refused above; nothing more is to be said about it.
    const given = Object.hasOwn(value, key) && isIn(field, context.version) ? value[key] : undefined;
    if (given === null || given === undefined) continue;
    const read = translate(field.kind, given, [...path, key], context);
    if (read === undefined) continue;
    if (field.to === undefined) sugar[key] = read;
    else if (!isLeftOut(field, read)) made[field.to] = read;
  }
  fillAlways(fields, made);
  context.finish(struct, { made, sugar, path });
  return made;
}

function translate(kind: Kind, value: unknown, path: Path, context: TranslateContext): Json | undefined {
  const { document, report } = context;
  if (kind === 'text') return readText(value, path, document, report);
  if (kind === 'integer') return readInteger(value, path, document, report);
  if (kind === 'boolean') return readBoolean(value, path, report);
  if ('struct' in kind) return translateStruct(kind.struct, value, path, context);
  if (!Array.isArray(value)) {
    report.error(path, `expected a list (lines that start with "- "), got ${show(value)}`);
    return undefined;
  }
  return translateList(kind.list, value, path, context);
}

function translateList(kind: Kind, list: readonly unknown[], path: Path, context: TranslateContext): Json[] {
  return list.flatMap((item, index) => {
    if (item === null || item === undefined) {
      // Butane drops it, too, and says less.
      context.report.warning([...path, index], 'nothing stands after this dash, so it is left out');
      return [];
    }
    const read = translate(kind, item, [...path, index], context);
    return read === undefined ? [] : [read];
  });
}

function refuseUnknown(
  fields: Readonly<Record<string, Field>>,
  value: Readonly<Record<string, unknown>>,
  path: Path,
  { report, version }: TranslateContext,
): void {
  const known = Object.keys(fields).filter((key) => isIn(fields[key]!, version));
  for (const key of Object.keys(value)) {
    const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (field === undefined) {
      const hint = didYouMean(key, known) || `; known keys: ${known.join(', ')}`;
      report.keyError([...path, key], `unknown key ${quote(key)}${hint}`);
    } else if (!isIn(field, version)) {
      report.keyError(
        [...path, key],
        `${quote(key)} needs version ${field.since} of variant flatcar; this says ${version}`,
      );
    }
  }
}

function isIn({ since }: Field, version: ButaneVersion): boolean {
  return since === undefined || version >= since;
}

/** Empty lists and mappings say nothing. */
function isLeftOut({ kind, omitZero }: Field, value: Json): boolean {
  if (omitZero && value === 0) return true;
  if (typeof kind !== 'object') return false;
  return Object.keys(value as object).length === 0;
}

function fillAlways(fields: Readonly<Record<string, Field>>, made: JsonObject): void {
  for (const { to, always } of Object.values(fields)) if (always && to !== undefined) made[to] ??= '';
}
