import type { Place } from '../document/problem.ts';
import { isRecord } from '../document/shape.ts';
import { evaluate } from './evaluate.ts';
import { TemplateFault } from './fault.ts';
import { isTrue } from './helpers.ts';
import type { TemplateLimits } from './limits.ts';
import type { EachNode, IncludeNode, Node, TextNode, ValueNode } from './nodes.ts';
import { innerScope, partialScope, type Scope } from './scope.ts';

/** What a template writes to. */
export interface Output {
  text(node: TextNode): void;
  value(node: ValueNode, value: unknown): void;
  /** A partial starts: from here on, lines are indented by this much more. */
  indent(by: string): void;
  /** It ends; `closeLine` says to end a line that it left open. */
  outdent(by: string, closeLine: Place | undefined): void;
  /** Which way was taken: 0 or 1 at a condition, the number of turns at a loop. Only values decide about that. */
  decided(way: number): void;
}

interface Run {
  output: Output;
  /** The nodes of a partial; unknown names and cycles were found when the templates were read. */
  partial(node: IncludeNode): readonly Node[];
  limits: TemplateLimits;
  steps: number;
}

export function run(
  nodes: readonly Node[],
  scope: Scope,
  output: Output,
  partial: (node: IncludeNode) => readonly Node[],
  limits: TemplateLimits,
): void {
  runNodes(nodes, scope, { output, partial, limits, steps: 0 }, 0);
}

function runNodes(nodes: readonly Node[], scope: Scope, state: Run, depth: number): void {
  for (const node of nodes) {
    step(node, state);
    switch (node.kind) {
      case 'text':
        state.output.text(node);
        break;
      case 'value':
        state.output.value(node, evaluate(node.expression, scope));
        break;
      case 'if': {
        const isMet = isTrue(evaluate(node.test, scope)) !== node.isUnless;
        state.output.decided(isMet ? 1 : 0);
        runNodes(isMet ? node.body : node.otherwise, scope, state, deeper(node, state, depth));
        break;
      }
      case 'with': {
        const context = evaluate(node.context, scope);
        const inner = deeper(node, state, depth);
        const isMet = isTrue(context);
        state.output.decided(isMet ? 1 : 0);
        if (!isMet) runNodes(node.otherwise, scope, state, inner);
        else runNodes(node.body, innerScope(scope, context, named(node.params, [context])), state, inner);
        break;
      }
      case 'each':
        runEach(node, scope, state, deeper(node, state, depth));
        break;
      case 'include':
        runInclude(node, scope, state, deeper(node, state, depth));
        break;
    }
  }
}

function runEach(node: EachNode, scope: Scope, state: Run, depth: number): void {
  const items = evaluate(node.list, scope) ?? [];
  if (typeof items !== 'object') {
    throw new TemplateFault(node.place, `#each takes a list or a mapping, and this is ${typeof items}`);
  }
  const entries: [string | number, unknown][] = Array.isArray(items)
    ? [...items.entries()]
    : Object.entries(items);
  state.output.decided(entries.length);
  if (entries.length === 0) return runNodes(node.otherwise, scope, state, depth);
  const last = entries.length - 1;
  entries.forEach(([key, item], index) => {
    step(node, state);
    const loop = { index, key, first: index === 0, last: index === last };
    runNodes(node.body, innerScope(scope, item, named(node.params, [item, key]), loop), state, depth);
  });
}

function runInclude(node: IncludeNode, scope: Scope, state: Run, depth: number): void {
  let context = node.context === undefined ? scope.context : evaluate(node.context, scope);
  if (node.named.length > 0) {
    const added = node.named.map(([name, expression]) => [name, evaluate(expression, scope)] as const);
    // Not by assignment: a name may be `__proto__`.
    context = Object.fromEntries([...(isRecord(context) ? Object.entries(context) : []), ...added]);
  }
  state.output.indent(node.indent);
  runNodes(state.partial(node), partialScope(scope, context), state, depth);
  state.output.outdent(node.indent, node.isOwnLine ? node.place : undefined);
}

function named(
  params: readonly string[],
  values: readonly unknown[],
): ReadonlyMap<string, unknown> | undefined {
  if (params.length === 0) return undefined;
  return new Map(params.map((name, index) => [name, values[index]]));
}

function deeper(node: Node, { limits }: Run, depth: number): number {
  if (depth >= limits.maxDepth) {
    throw new TemplateFault(node.place, `more than ${limits.maxDepth} blocks and partials in each other`);
  }
  return depth + 1;
}

/** Each part that is run counts, and each turn of a loop. */
function step(node: Node, state: Run): void {
  if (++state.steps <= state.limits.maxSteps) return;
  throw new TemplateFault(
    node.place,
    `too much to do: more than ${state.limits.maxSteps} steps; look at the loops`,
  );
}
