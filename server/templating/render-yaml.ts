import type { Problem } from '../document/problem.ts';
import { orProblem, TemplateFault } from './fault.ts';
import { FillError } from './fill.ts';
import { DEFAULT_TEMPLATE_LIMITS, type TemplateLimits } from './limits.ts';
import { RenderedDocument } from './rendered-document.ts';
import { run } from './run.ts';
import { rootScope } from './scope.ts';
import { Skeleton } from './skeleton.ts';
import type { TemplateSet } from './template-set.ts';
import { ValuesOutput, YamlOutput } from './yaml-output.ts';

/** A template and the values that it took, not put together yet. */
export interface Unfilled {
  file: string;
  /** The same one for all that differ in nothing but their values. */
  skeleton: Skeleton;
  values: readonly unknown[];
}

export type RenderedYaml = { document: RenderedDocument } | { problems: Problem[] };

/**
 * Renders a template whose output is YAML. Values never become text of that YAML: it is parsed with a placeholder for
 * each, and the values are put into what was parsed. So no value can change the document's shape, a text of many lines
 * needs no indentation, and a scalar that is nothing but one value keeps that value's type (unless it is in quotes).
 */
export function renderYaml(
  templates: TemplateSet,
  name: string,
  values: Readonly<Record<string, unknown>>,
  limits: Partial<TemplateLimits> = {},
): RenderedYaml {
  const run = runYaml(templates, name, values, limits);
  return 'problems' in run ? run : fillYaml(run, limits);
}

/**
 * The first half of it. What a template writes depends on nothing but which way it goes, so it is written, and parsed,
 * once for each way.
 */
export function runYaml(
  templates: TemplateSet,
  name: string,
  values: Readonly<Record<string, unknown>>,
  limits: Partial<TemplateLimits> = {},
): Unfilled | { problems: Problem[] } {
  return orProblem(() => {
    const { file, nodes } = templates.open(name);
    const allLimits = { ...DEFAULT_TEMPLATE_LIMITS, ...limits };
    const scope = rootScope(values);
    const output = new ValuesOutput(allLimits);
    run(nodes, scope, output, templates.partial, allLimits);
    // A name may have blanks and digits in it, a way has nothing else.
    const way = `${output.way}:${name}`;
    let skeleton = templates.skeletons.get(way);
    if (skeleton === undefined) {
      const yaml = new YamlOutput(allLimits);
      run(nodes, scope, yaml, templates.partial, allLimits);
      skeleton = Skeleton.parse(file, yaml, allLimits.maxNodes);
      templates.skeletons.keep(way, skeleton);
    }
    return { file, skeleton, values: output.values };
  });
}

/** The second half. */
export function fillYaml(
  { file, skeleton, values }: Unfilled,
  { maxOutput = DEFAULT_TEMPLATE_LIMITS.maxOutput }: Partial<TemplateLimits> = {},
): RenderedYaml {
  return orProblem(() => {
    try {
      const filled = skeleton.fill(values, maxOutput);
      return { document: new RenderedDocument(file, filled, skeleton, values) };
    } catch (error) {
      if (!(error instanceof FillError)) throw error;
      const { place, shown } = skeleton.pieceOf(error.index);
      throw new TemplateFault(place, `${shown} ${error.message}`);
    }
  });
}
