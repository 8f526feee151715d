import { quote } from '../../document/problem.ts';
import { keyOf } from '../spec/list-key.ts';
import type { ConfigPath } from '../spec/place.ts';
import { type IgnitionConfig, IgnitionConfigSchema } from '../spec/schema.ts';
import { type SchemaNode, schemaNode } from '../spec/schema-node.ts';
import type { CheckContext } from './check.ts';

/** The same entry twice in a list, or in lists that share their keys. */
export function checkDuplicates(config: IgnitionConfig, context: CheckContext): void {
  visit(config, schemaNode(IgnitionConfigSchema), [], context);
}

function visit(value: unknown, schema: SchemaNode, path: ConfigPath, context: CheckContext): void {
  if (value === undefined) return;
  if (schema.type === 'array') {
    (value as unknown[]).forEach((entry, index) => {
      visit(entry, schema.items!, [...path, index], context);
    });
  } else if (schema.type === 'object') {
    const fields = value as Record<string, unknown>;
    const seen = new Map<string, Map<string, ConfigPath>>();
    for (const [name, inner] of Object.entries(schema.properties ?? {})) {
      const at = [...path, name];
      if (inner.type === 'array' && inner.appended !== true && fields[name] !== undefined) {
        const group = inner.shares ?? name;
        const keys = seen.get(group) ?? new Map<string, ConfigPath>();
        seen.set(group, keys);
        checkList(fields[name] as unknown[], inner, at, keys, context);
      }
      visit(fields[name], inner, at, context);
    }
  }
}

function checkList(
  entries: readonly unknown[],
  schema: SchemaNode,
  path: ConfigPath,
  keys: Map<string, ConfigPath>,
  context: CheckContext,
): void {
  entries.forEach((entry, index) => {
    const key = keyOf(entry, schema.key);
    const first = keys.get(key);
    if (first === undefined) keys.set(key, [...path, index]);
    else {
      // URLs hold tokens, and what a file contains: they are not shown.
      const isShown = key !== '' && schema.key !== 'source' && schema.key !== 'url';
      const what = isShown ? quote(key) : 'an entry like this one';
      context.error([...path, index], `${what} is at ${first.join('.')} already; keep only one of them`);
    }
  });
}
