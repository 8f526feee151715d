import { keyOf } from './spec/list-key.ts';
import type { ConfigPath } from './spec/place.ts';
import { fieldName } from './spec/place.ts';
import { type IgnitionConfig, IgnitionConfigSchema } from './spec/schema.ts';
import { type SchemaNode, schemaNode } from './spec/schema-node.ts';
import { FIELD_SINCE } from './spec/since.ts';
import { isAtLeast, newerOf, readSpecVersion, type SpecVersion, USUAL_VERSION } from './spec/version.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * The config that Ignition ends up with when `parent` has `child` in its `ignition.config.merge`:
 * the child's values win; lists are joined, entries of the same key being merged into one; a file, directory or link
 * of the child takes the place of another kind at its path. The result has the newer version of the two.
 * Two good configs can give a bad one: validate the result.
 */
export function mergeIgnition(parent: IgnitionConfig, child: IgnitionConfig): IgnitionConfig {
  const version = newerOf(versionOf(parent), versionOf(child));
  const merged = mergeObject(ROOT, known(parent), known(child)) as IgnitionConfig;
  return { ...merged, ignition: { ...merged.ignition, version } };
}

/** From the base to the most special: each is the child of all before it. */
export function mergeIgnitionConfigs(
  first: IgnitionConfig,
  ...others: readonly IgnitionConfig[]
): IgnitionConfig {
  return others.reduce(mergeIgnition, first);
}

const ROOT = schemaNode(IgnitionConfigSchema);

function versionOf({ ignition }: IgnitionConfig): SpecVersion {
  return readSpecVersion(ignition.version) ?? USUAL_VERSION;
}

/** Only the fields that a config's own version has: in the newer one of the result the others would come to life. */
function known(config: IgnitionConfig): Fields {
  return pick(config, ROOT, [], versionOf(config)) as Fields;
}

function pick(value: unknown, schema: SchemaNode, path: ConfigPath, version: SpecVersion): unknown {
  if (schema.type === 'array') {
    return (value as unknown[]).map((entry, index) => pick(entry, schema.items!, [...path, index], version));
  }
  if (schema.type !== 'object') return value;
  const fields = value as Fields;
  const entries = Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const at = [...path, name];
    const since = FIELD_SINCE[fieldName(at)];
    const isKnown = since === undefined || isAtLeast(version, since);
    return isKnown && fields[name] !== undefined
      ? [[name, pick(fields[name], inner, at, version)] as const]
      : [];
  });
  return Object.fromEntries(entries);
}

function mergeObject(schema: SchemaNode, parent: Fields, child: Fields): Fields {
  const merged: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    const value = mergeField(schema, name, inner, parent, child);
    if (value !== undefined) merged[name] = value;
  }
  return merged;
}

function mergeField(
  schema: SchemaNode,
  name: string,
  inner: SchemaNode,
  parent: Fields,
  child: Fields,
): unknown {
  const [ours, theirs] = [parent[name], child[name]];
  if (inner.type === 'array') return mergeLists(schema, name, inner, parent, child);
  if (inner.type === 'object' && ours !== undefined && theirs !== undefined) {
    return mergeObject(inner, ours as Fields, theirs as Fields);
  }
  return theirs ?? ours;
}

function mergeLists(
  schema: SchemaNode,
  name: string,
  list: SchemaNode,
  parent: Fields,
  child: Fields,
): readonly unknown[] | undefined {
  const ours = entriesOf(parent, name);
  const theirs = entriesOf(child, name);
  if (ours.length + theirs.length === 0) return undefined;
  if (list.appended) return [...ours, ...theirs];
  const inChild = keysOfSharing(schema, name, list, child);
  const ourKeys = new Set(ours.map((entry) => keyOf(entry, list.key)));
  const kept = ours.flatMap((entry) => {
    const match = inChild.get(keyOf(entry, list.key));
    if (match === undefined) return [entry];
    // In another list of the child: there it takes the place of this one.
    return match.list === name ? mergeEntries(list, entry, match.entry) : [];
  });
  const added = theirs.filter((entry) => !ourKeys.has(keyOf(entry, list.key)));
  const all = [...kept, ...added];
  return all.length === 0 ? undefined : all;
}

function mergeEntries(list: SchemaNode, ours: unknown, theirs: unknown): unknown[] {
  if (list.items?.type !== 'object') return [theirs];
  const child = theirs as Fields;
  if (list.removesWithout !== undefined && child[list.removesWithout] === undefined) return [];
  return [mergeObject(list.items, ours as Fields, child)];
}

/** Where in the child the entries are that a list of the parent could meet. */
function keysOfSharing(
  schema: SchemaNode,
  name: string,
  { shares }: SchemaNode,
  child: Fields,
): Map<string, { list: string; entry: unknown }> {
  const keys = new Map<string, { list: string; entry: unknown }>();
  for (const [other, { key, shares: alsoShares }] of Object.entries(schema.properties ?? {})) {
    if (other !== name && (shares === undefined || shares !== alsoShares)) continue;
    for (const entry of entriesOf(child, other)) keys.set(keyOf(entry, key), { list: other, entry });
  }
  return keys;
}

function entriesOf(fields: Fields, name: string): readonly unknown[] {
  return (fields[name] as unknown[] | undefined) ?? [];
}
