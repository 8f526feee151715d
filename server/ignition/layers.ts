import { formatProblem, hasErrors, isError, type Problem, sortProblems } from '../document/problem.ts';
import type { RenderedDocument } from '../templating/rendered-document.ts';
import type { DataUrls } from './butane/data-url.ts';
import type { FilesReader } from './butane/files.ts';
import { transpileButane } from './butane/transpile.ts';
import { mergeIgnition } from './merge.ts';
import type { IgnitionConfig } from './spec/schema.ts';
import { unitValueFaults } from './unit-values.ts';
import { validateIgnition } from './validate.ts';

/** A template as it was rendered for a host. */
export interface Layer {
  template: string;
  document: RenderedDocument;
}

export interface LayerOptions {
  /** What layers may take contents from. */
  files: FilesReader;
  dataUrlsFor: (layer: Layer) => DataUrls;
}

export type Laid = { config: IgnitionConfig } | { problems: Problem[] };

/** Larger ones would hold up a machine for longer than it waits, and Ignition keeps them in memory. */
export const MAX_CONFIG_BYTES = 10 * 1024 * 1024;

/**
 * Makes Ignition of each layer, and lays them over each other by Ignition's own rules. `before` is what is wrong with
 * those that couldn't even be rendered.
 */
export function layTogether(
  layers: readonly Layer[],
  options: LayerOptions,
  before: readonly Problem[] = [],
): Laid {
  const problems = [...before];
  let config: IgnitionConfig | undefined;
  for (const layer of layers) {
    const transpiled = transpile(layer, options, false);
    problems.push(...transpiled.problems, ...unitValueFaults(layer.document));
    if (transpiled.config === undefined) continue;
    config = config === undefined ? transpiled.config : mergeIgnition(config, transpiled.config);
  }
  if (config === undefined || hasErrors(problems)) {
    return { problems: sortProblems(unique([...problems, ...faultsOf(layers, options)])) };
  }
  const faults = judge(config, layers, options);
  return faults.length > 0 ? { problems: faults } : { config };
}

/**
 * What Ignition would refuse. Checking takes longer than making it, so that is done once, for all layers together; only
 * when something is wrong each layer is looked at, for the place in its template. What no layer has by itself, such as
 * a file where another layer has a folder, has no such place.
 */
function judge(config: IgnitionConfig, layers: readonly Layer[], options: LayerOptions): Problem[] {
  const file = layers.map(({ template }) => template).join(' + ');
  const fault = (message: string): Problem => ({
    severity: 'error',
    file,
    line: 0,
    col: 0,
    subject: '',
    message,
  });
  const bytes = Buffer.byteLength(JSON.stringify(config));
  if (bytes > MAX_CONFIG_BYTES) {
    return [fault(`the configuration has ${bytes} bytes; at most ${MAX_CONFIG_BYTES} are served`)];
  }
  const together = validateIgnition(config).filter(({ severity }) => severity === 'error');
  if (together.length === 0) return [];
  const placed = faultsOf(layers, options);
  if (placed.length > 0) return sortProblems(placed);
  return together.map(({ path, message }) => fault(`${path}: ${message}`));
}

/** What is wrong with each layer by itself, with the places in its template. */
function faultsOf(layers: readonly Layer[], options: LayerOptions): Problem[] {
  return layers.flatMap((layer) => transpile(layer, options, true).problems).filter(isError);
}

function transpile(layer: Layer, { files, dataUrlsFor }: LayerOptions, validate: boolean) {
  return transpileButane(layer.document, { files, dataUrls: dataUrlsFor(layer), validate });
}

function unique(problems: readonly Problem[]): Problem[] {
  return [...new Map(problems.map((problem) => [formatProblem(problem), problem])).values()];
}
