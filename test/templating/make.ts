import { formatProblem } from '../../server/document/problem.ts';
import type { TemplateLimits } from '../../server/templating/limits.ts';
import { renderText } from '../../server/templating/render-text.ts';
import { renderYaml } from '../../server/templating/render-yaml.ts';
import { TemplateSet } from '../../server/templating/template-set.ts';

export type Values = Record<string, unknown>;

export function setOf(sources: Record<string, string | Uint8Array>): TemplateSet {
  return new TemplateSet(new Map(Object.entries(sources)));
}

/** The value of a template that must render, from one source or several (the first is rendered). */
export function yaml(sources: string | Record<string, string>, values: Values = {}): unknown {
  const { set, name } = open(sources);
  const result = renderYaml(set, name, values);
  if ('problems' in result) throw new Error(result.problems.map(formatProblem).join('\n'));
  return result.document.value;
}

/** What is said about a template that must not render. */
export function yamlFault(
  sources: string | Record<string, string | Uint8Array>,
  values: Values = {},
  limits?: Partial<TemplateLimits>,
): string {
  const { set, name } = open(sources);
  const result = renderYaml(set, name, values, limits);
  return 'problems' in result ? result.problems.map(formatProblem).join('\n') : 'no fault';
}

export function text(source: string | Record<string, string>, values: Values = {}): string {
  const { set, name } = open(source);
  const result = renderText(set, name, values);
  return 'problems' in result ? result.problems.map(formatProblem).join('\n') : result.text;
}

function open(sources: string | Record<string, string | Uint8Array>): { set: TemplateSet; name: string } {
  const given = typeof sources === 'string' ? { 't.yaml': sources } : sources;
  return { set: setOf(given), name: Object.keys(given)[0]! };
}
