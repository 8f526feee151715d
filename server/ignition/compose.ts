import { formatProblem, hasErrors, isError, type Problem, sortProblems } from '../document/problem.ts';
import type { HostSpec } from '../inventory/model.ts';
import { renderYaml } from '../templating/render-yaml.ts';
import type { TemplateSet } from '../templating/template-set.ts';
import { DataUrlCache } from './butane/data-url.ts';
import type { FilesReader } from './butane/files.ts';
import { transpileButane } from './butane/transpile.ts';
import type { ButaneLayer } from './butane-text.ts';
import type { Purpose } from './delivery.ts';
import { mergeIgnition } from './merge.ts';
import type { IgnitionConfig } from './spec/schema.ts';
import { unitValueFaults } from './unit-values.ts';
import { validateIgnition } from './validate.ts';

export type Composed =
  | { config: IgnitionConfig; layers: ButaneLayer[]; warnings: Problem[] }
  | { problems: Problem[] };

/** Larger ones would hold up a machine for longer than it waits, and Ignition keeps them in memory. */
const MAX_CONFIG_BYTES = 10 * 1024 * 1024;

/** Which templates make up a host's configuration, from the bottom up. */
export function layersOf(host: HostSpec, purpose: Purpose): string[] {
  const own = host.templates.ignition;
  const builtIn =
    purpose === 'installer'
      ? ['installer']
      : own !== undefined
        ? [own.replace(/\.bu$/, '')]
        : [
            'base',
            ...(host.member && host.kubernetes !== undefined ? ['kubernetes'] : []),
            ...(host.os.install === 'ram' && host.disk !== undefined ? ['ram'] : []),
          ];
  const snippets = purpose === 'installer' ? [] : host.snippets;
  return [...builtIn.map((name) => `ignition/${name}.bu`), ...snippets.map((name) => `snippets/${name}`)];
}

export interface ComposeTemplates {
  set: TemplateSet;
  /** What they may take contents from. */
  files: FilesReader;
}

/** Renders the layers, makes Ignition of each, and lays them over each other by Ignition's own rules. Pure. */
export function composeConfig(
  { set, files }: ComposeTemplates,
  layers: readonly string[],
  values: Readonly<Record<string, unknown>>,
  dataUrls = new DataUrlCache(),
): Composed {
  const problems: Problem[] = [];
  const done: ButaneLayer[] = [];
  let config: IgnitionConfig | undefined;
  for (const template of layers) {
    const rendered = renderYaml(set, template, values);
    if ('problems' in rendered) {
      problems.push(...rendered.problems);
      continue;
    }
    const { document } = rendered;
    const transpiled = transpileButane(document, { files, dataUrls, validate: false });
    problems.push(...transpiled.problems, ...unitValueFaults(document));
    done.push({ template, document });
    if (transpiled.config === undefined) continue;
    config = config === undefined ? transpiled.config : mergeIgnition(config, transpiled.config);
  }
  if (config === undefined || hasErrors(problems)) {
    return { problems: sortProblems(unique([...problems, ...faultsOf(done, { files, dataUrls })])) };
  }
  const faults = judge(config, done, { files, dataUrls });
  return faults.length > 0
    ? { problems: faults }
    : { config, layers: done, warnings: sortProblems(problems) };
}

/**
 * What Ignition would refuse. Checking takes longer than making it, so that is done once, for all layers together; only
 * when something is wrong each layer is looked at, for the place in its template. What no layer has by itself, such as
 * a file where another layer has a folder, has no such place.
 */
function judge(
  config: IgnitionConfig,
  layers: readonly ButaneLayer[],
  options: { files: FilesReader; dataUrls: DataUrlCache },
): Problem[] {
  const file = layers.map(({ template }) => template).join(' + ');
  const fault = (message: string): Problem => ({
    severity: 'error',
    file,
    line: 0,
    col: 0,
    subject: '',
    message,
  });
  const size = Buffer.byteLength(JSON.stringify(config));
  if (size > MAX_CONFIG_BYTES) {
    return [fault(`the configuration has ${size} bytes; at most ${MAX_CONFIG_BYTES} are served`)];
  }
  const together = validateIgnition(config).filter(({ severity }) => severity === 'error');
  if (together.length === 0) return [];
  const placed = faultsOf(layers, options);
  if (placed.length > 0) return sortProblems(placed);
  return together.map(({ path, message }) => fault(`${path}: ${message}`));
}

/** What is wrong with each layer by itself, with the places in its template. */
function faultsOf(
  layers: readonly ButaneLayer[],
  options: { files: FilesReader; dataUrls: DataUrlCache },
): Problem[] {
  return layers.flatMap(({ document }) => transpileButane(document, options).problems).filter(isError);
}

function unique(problems: readonly Problem[]): Problem[] {
  return [...new Map(problems.map((problem) => [formatProblem(problem), problem])).values()];
}
