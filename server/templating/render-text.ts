import type { Problem } from '../document/problem.ts';
import { orProblem } from './fault.ts';
import { asText, HelperError } from './helpers.ts';
import { DEFAULT_TEMPLATE_LIMITS, type TemplateLimits } from './limits.ts';
import type { ValueNode } from './nodes.ts';
import { PiecesOutput } from './output.ts';
import { run } from './run.ts';
import { rootScope } from './scope.ts';
import type { TemplateSet } from './template-set.ts';

export type TextResult = { text: string } | { problems: Problem[] };

/**
 * Renders a template whose output is plain text: a unit, a script, a menu. Nobody parses that here, so a value that
 * brings a line of its own could be a line of the configuration: control characters in values are refused.
 */
export function renderText(
  templates: TemplateSet,
  name: string,
  values: Readonly<Record<string, unknown>>,
  limits: Partial<TemplateLimits> = {},
): TextResult {
  return orProblem(() => {
    const template = templates.open(name);
    const allLimits = { ...DEFAULT_TEMPLATE_LIMITS, ...limits };
    const output = new TextOutput(allLimits);
    run(template.nodes, rootScope(values), output, templates.partial, allLimits);
    return { text: output.written };
  });
}

class TextOutput extends PiecesOutput {
  override value(node: ValueNode, value: unknown): void {
    const text = this.checking(node, () => oneLine(asText(value)));
    if (text === '') return;
    this.addIndentIfDue(node.place);
    this.add({ text, place: node.place });
  }
}

/** The value isn't shown: it may be a secret. */
function oneLine(text: string): string {
  if (/[\p{Cc}\u2028\u2029]/u.test(text)) {
    throw new HelperError(
      'has a line break or another control character, which this file can not hold safely',
    );
  }
  if (!text.isWellFormed()) throw new HelperError('is not valid Unicode');
  return text;
}
