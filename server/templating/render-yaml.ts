import type { Place, Problem } from '../document/problem.ts';
import { orProblem, TemplateFault } from './fault.ts';
import { FillError } from './fill.ts';
import { DEFAULT_TEMPLATE_LIMITS, type TemplateLimits } from './limits.ts';
import type { ValueNode } from './nodes.ts';
import { PiecesOutput } from './output.ts';
import { type Piece, placeInTemplate } from './pieces.ts';
import { HOLE, PLACEHOLDER_LENGTH } from './placeholder.ts';
import { RenderedDocument } from './rendered-document.ts';
import { run } from './run.ts';
import { rootScope } from './scope.ts';
import { Skeleton } from './skeleton.ts';
import type { TemplateSet } from './template-set.ts';

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
  return orProblem(() => {
    const { file, nodes } = templates.open(name);
    const allLimits = { ...DEFAULT_TEMPLATE_LIMITS, ...limits };
    const output = new YamlOutput(allLimits);
    run(nodes, rootScope(values), output, templates.partial, allLimits);
    const skeleton = parse(templates, file, output, allLimits);
    const filled = fill(skeleton, file, output, allLimits);
    return { document: new RenderedDocument(file, filled, skeleton, output.values, output.pieces) };
  });
}

class YamlOutput extends PiecesOutput {
  readonly values: unknown[] = [];

  override value(node: ValueNode, value: unknown): void {
    this.addIndentIfDue(node.place);
    this.values.push(value);
    this.add({ text: undefined, place: node.place, shown: node.shown }, HOLE);
    if (typeof value === 'string') this.grow(value.length, node.place);
  }
}

function parse(templates: TemplateSet, file: string, output: YamlOutput, limits: TemplateLimits): Skeleton {
  const { written, pieces } = output;
  const known = templates.skeletons.get(written);
  if (known !== undefined) return known;
  const parsed = Skeleton.parse(file, written, limits.maxNodes);
  if (!(parsed instanceof Skeleton)) {
    const place = placeInTemplate(pieces, parsed.offset, PLACEHOLDER_LENGTH) ?? { file, line: 0, col: 0 };
    throw new TemplateFault(place, parsed.message);
  }
  templates.skeletons.keep(written, parsed);
  return parsed;
}

function fill(
  skeleton: Skeleton,
  file: string,
  { values, pieces }: YamlOutput,
  limits: TemplateLimits,
): unknown {
  try {
    return skeleton.fill(values, limits.maxOutput);
  } catch (error) {
    if (!(error instanceof FillError)) throw error;
    const { place, shown } = valuePiece(pieces, error.index, file);
    throw new TemplateFault(place, `${shown} ${error.message}`);
  }
}

/** The piece of the value with this index; of the whole template when no value is to blame. */
function valuePiece(pieces: readonly Piece[], index: number, file: string): { place: Place; shown: string } {
  const piece = index < 0 ? undefined : pieces.filter(({ text }) => text === undefined)[index];
  return { place: piece?.place ?? { file, line: 0, col: 0 }, shown: piece?.shown ?? 'this template' };
}
