import type { Place } from '../document/problem.ts';

/**
 * A template as it is run: Handlebars' own tree, reduced to what is allowed here, checked, and with the place of each
 * part. It is run by our own small interpreter, because that one knows where every character of its output is from,
 * knows no prototypes, and can be bounded.
 */
export type Node = TextNode | ValueNode | ConditionNode | EachNode | WithNode | IncludeNode;

export interface TextNode {
  kind: 'text';
  text: string;
  place: Place;
}

export interface ValueNode {
  kind: 'value';
  expression: Expression;
  /** As the author wrote it, for messages. */
  shown: string;
  place: Place;
}

export interface ConditionNode {
  kind: 'if';
  test: Expression;
  isUnless: boolean;
  body: readonly Node[];
  otherwise: readonly Node[];
  place: Place;
}

export interface EachNode {
  kind: 'each';
  list: Expression;
  /** Names for the item and its index or key. */
  params: readonly string[];
  body: readonly Node[];
  otherwise: readonly Node[];
  place: Place;
}

export interface WithNode {
  kind: 'with';
  context: Expression;
  params: readonly string[];
  body: readonly Node[];
  otherwise: readonly Node[];
  place: Place;
}

export interface IncludeNode {
  kind: 'include';
  name: string;
  context: Expression | undefined;
  /** Values that the partial sees under names of its own. */
  named: readonly (readonly [string, Expression])[];
  /** Alone on its line, the partial is indented as a whole and ends its last line. */
  indent: string;
  isOwnLine: boolean;
  place: Place;
}

export type Expression = LiteralExpression | PathExpression | CallExpression;

export interface LiteralExpression {
  kind: 'literal';
  value: string | number | boolean | null;
  place: Place;
}

export interface PathExpression {
  kind: 'path';
  /** `@index`, `@root` and so on. */
  isData: boolean;
  /** How many `../`. */
  up: number;
  /** `this.name` and `./name` mean the context, never a block parameter. */
  isScoped: boolean;
  parts: readonly string[];
  shown: string;
  place: Place;
}

export interface CallExpression {
  kind: 'call';
  helper: string;
  args: readonly Expression[];
  place: Place;
}
