import type { TSchema } from 'typebox';
import type { ListRules } from './schema.ts';

/** The parts of a TypeBox schema that a walk along one needs. */
export interface SchemaNode extends ListRules {
  type: 'object' | 'array' | 'string' | 'integer' | 'boolean';
  properties?: Readonly<Record<string, SchemaNode>>;
  required?: readonly string[];
  items?: SchemaNode;
}

export function schemaNode(schema: TSchema): SchemaNode {
  return schema as unknown as SchemaNode;
}
